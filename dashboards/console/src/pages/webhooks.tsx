/** Webhooks: list, creation, and a single webhook with its deliveries. URLs are shown as text, never as links. */

import type { Schemas } from '@kedge/sdk';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { lasting } from '../figures';
import { useDoing, useLoading, usePaging } from '../loading';
import { neededOf, textOf } from '../fields';
import { Field, Form, Outcome, Sure } from '../pieces/forms';
import { List } from '../pieces/lists';
import { Loaded, Notice } from '../pieces/notices';
import { Page, Part, Signed } from '../pieces/page';
import { Ago } from '../pieces/ago';
import { Secret } from '../pieces/secret';
import { Count, Fact, Facts, Hash, Ref, State, Stored, Time } from '../pieces/text';
import { reader } from '../session';
import { EVENT_TYPES } from './events';

/** Event types of a webhook. */
const wanted = (events: readonly string[]): string => (events.includes('*') ? 'all' : events.join(', '));

type WantedEvent = '*' | (typeof EVENT_TYPES)[number];

function NewWebhook({ onDone }: { onDone: () => void }) {
  const [secret, setSecret] = useState<string | null>(null);
  const doing = useDoing(async (form: FormData) => {
    const chosen = form.getAll('events') as WantedEvent[];
    const made = await reader().createWebhook({
      url: neededOf(form, 'url', 'URL'),
      events: chosen.length === 0 ? ['*'] : chosen,
      description: textOf(form, 'description') ?? '',
    });
    setSecret((made as { secret?: string | null }).secret ?? '');
    onDone();
  });
  return (
    <>
      {secret === null ? null : <Secret what="signing secret" value={secret} />}
      <Form label="New webhook" submit="Sign and make" doing={doing} onEmptied={() => {}}>
        <Field label="URL" name="url" type="url" required placeholder="https://example.com/hook" hint="An https URL whose host is on the public internet." />
        <Field label="Description (optional)" name="description" />
        <fieldset>
          <legend>Events; all if none is chosen</legend>
          <div class="options">
            {EVENT_TYPES.map((type) => (
              <label key={type} class="option">
                <input type="checkbox" name="events" value={type} /> {type}
              </label>
            ))}
          </div>
        </fieldset>
      </Form>
    </>
  );
}

/** The webhooks. */
export function Webhooks() {
  const [turn, setTurn] = useState(0);
  const webhooks = usePaging(() => reader().listWebhooks({ limit: 100, order: 'desc' }), [turn]);
  return (
    <Page title="Webhooks" lead="Events, sent to a URL of yours with their receipts and a signature.">
      <List
        label="Webhooks"
        of={webhooks}
        keyOf={({ id }) => id}
        none="There are no webhooks yet."
        columns={[
          { name: 'Webhook', show: ({ id }) => <Ref id={id} /> },
          { name: 'URL', show: ({ url }) => <Stored text={url} /> },
          { name: 'State', show: ({ active }) => <State of={active ? 'active' : 'off'} /> },
          { name: 'Events', show: ({ events }) => wanted(events) },
          { name: 'Changed', show: ({ updated_at: at }) => <Ago at={at} /> },
        ]}
      />
      <Part title="New webhook">
        <Signed>
          <NewWebhook onDone={() => setTurn(turn + 1)} />
        </Signed>
      </Part>
    </Page>
  );
}

type DeliveryView = Schemas['DeliveryView'];

/** What the receiver answered, or why there is no answer. */
function Answer({ of: { response_status: status, error } }: { of: DeliveryView }) {
  if (status === null && error === null) return <span class="faint">none yet</span>;
  return (
    <>
      {status === null ? null : <span class="code">{status}</span>} {error === null ? null : <Stored text={error} />}
    </>
  );
}

/** The time from the queue to the last attempt: the server tells when that began, not how long it took. */
function waited({ created_at: queued, last_attempt_at: last }: DeliveryView): string {
  return last === null ? '' : lasting(Math.max(Date.parse(last) - Date.parse(queued), 0));
}

function Deliveries({ id, turn }: { id: string; turn: number }) {
  const [own, setOwn] = useState(0);
  const deliveries = usePaging(() => reader().listWebhookDeliveries(id, { limit: 50, order: 'desc' }), [id, turn, own]);
  const again = useDoing(async (delivery: string) => {
    await reader().redeliver(id, delivery);
    setOwn(own + 1);
    return 'It is sent again.';
  });
  return (
    <>
      <p class="row">
        <button type="button" onClick={() => setOwn(own + 1)}>
          Read again
        </button>
      </p>
      <Outcome of={again as never} />
      <List
        label="Deliveries"
        of={deliveries}
        keyOf={(one) => one.id}
        none="Nothing was sent yet."
        columns={[
          { name: 'Event', show: ({ event_type: type }) => <Stored text={type} /> },
          { name: 'Object', show: ({ object_id: object }) => (object === null ? <span class="faint">none</span> : <Ref id={object} />) },
          { name: 'State', show: ({ status }) => <State of={status} /> },
          { name: 'Answer', show: (one) => <Answer of={one} /> },
          { name: 'Attempts', show: ({ attempts }) => <Count of={attempts} />, isNumber: true },
          { name: 'Queued', show: ({ created_at: at }) => <Ago at={at} /> },
          { name: 'Until the last attempt', show: waited, isNumber: true },
          { name: 'Next', show: ({ next_attempt_at: at }) => (at === null ? <span class="faint">none</span> : <Ago at={at} />) },
          {
            name: 'Change',
            show: ({ id: delivery }) => (
              <button type="button" disabled={again.isBusy} onClick={() => void again.run(delivery)}>
                Send again
              </button>
            ),
          },
        ]}
      />
    </>
  );
}

/** What became of a test message. It is not among the deliveries. */
interface Tested {
  readonly delivery: DeliveryView;
  readonly ms: number;
}

function TestOutcome({ of: { delivery, ms } }: { of: Tested }) {
  const isDelivered = delivery.status === 'delivered';
  return (
    <Notice kind={isDelivered ? 'good' : 'bad'}>
      <p>
        <strong>{isDelivered ? 'The test message arrived.' : 'The test message did not arrive.'}</strong> <Answer of={delivery} /> after {lasting(ms)}.
      </p>
      <p class="faint">Tests are not kept among the deliveries.</p>
    </Notice>
  );
}

function Changes({ id, active, onDone }: { id: string; active: boolean; onDone: () => void }) {
  const [, go] = useLocation();
  const [secret, setSecret] = useState<string | null>(null);
  const [tested, setTested] = useState<Tested | null>(null);
  const doing = useDoing(async (what: 'switch' | 'test' | 'rotate' | 'delete') => {
    const client = reader();
    setTested(null);
    if (what === 'switch') await client.updateWebhook(id, { active: !active });
    if (what === 'test') {
      const begun = performance.now();
      const delivery = await client.testWebhook(id);
      setTested({ delivery, ms: performance.now() - begun });
      return undefined;
    }
    if (what === 'rotate') setSecret(((await client.rotateWebhookSecret(id, { overlap_s: 3600 })) as { secret?: string | null }).secret ?? '');
    if (what === 'delete') {
      await client.deleteWebhook(id);
      go('/webhooks');
      return undefined;
    }
    onDone();
    return { switch: active ? 'It is off: nothing is sent.' : 'It is on.', rotate: 'There is a new secret. Messages are signed with both for one hour.' }[what];
  });
  return (
    <>
      {secret === null ? null : <Secret what="signing secret" value={secret} />}
      <div class="row">
        <button type="button" disabled={doing.isBusy} onClick={() => void doing.run('test')}>
          {doing.isBusy ? 'Working…' : 'Send a test'}
        </button>
        <button type="button" disabled={doing.isBusy} onClick={() => void doing.run('switch')}>
          {active ? 'Switch off' : 'Switch on'}
        </button>
        <button type="button" disabled={doing.isBusy} onClick={() => void doing.run('rotate')}>
          Rotate the secret
        </button>
        <Sure label="Delete" question="Delete this webhook?" disabled={doing.isBusy} onSure={() => void doing.run('delete')} />
      </div>
      {tested === null ? null : <TestOutcome of={tested} />}
      <Outcome of={doing as never} />
    </>
  );
}

/** One webhook. */
export function OneWebhook({ id }: { id: string }) {
  const [turn, setTurn] = useState(0);
  const webhook = useLoading(() => reader().getWebhook(id), [id, turn]);
  return (
    <Page title="Webhook">
      <Loaded of={webhook}>
        {(of) => (
          <>
            <Facts>
              <Fact name="URL">
                <Stored text={of.url} />
              </Fact>
              <Fact name="State">
                <State of={of.active ? 'active' : 'off'} />
              </Fact>
              {of.description ? (
                <Fact name="Description">
                  <Stored text={of.description} />
                </Fact>
              ) : null}
              <Fact name="Events">{wanted(of.events)}</Fact>
              <Fact name="Id">
                <Hash value={of.id} whole />
              </Fact>
              <Fact name="Made">
                <Time at={of.created_at} />
              </Fact>
            </Facts>
            <Signed>
              <Changes id={id} active={of.active} onDone={() => setTurn(turn + 1)} />
            </Signed>
            <Part title="Deliveries">
              <Deliveries id={id} turn={turn} />
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
