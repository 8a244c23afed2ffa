/** Live events, newest first, over one stream that survives interruptions. */

import type { Schemas } from '@kedge/sdk';
import { useEffect, useState } from 'preact/hooks';
import { Choice, Field } from '../pieces/forms';
import { Fault } from '../pieces/notices';
import { Page } from '../pieces/page';
import { Ago } from '../pieces/ago';
import { Rows, Short } from '../pieces/rows';
import { Count, Fact, Facts, Json, Ref, Stored, Time } from '../pieces/text';
import { reader } from '../session';

type EventView = Schemas['EventView'];

/** Limit on displayed events. */
const KEPT_MAX = 200;

/** Event types, as in the filter `type` of the stream. */
export const EVENT_TYPES = [
  'object.created',
  'object.updated',
  'object.transferred',
  'object.locked',
  'object.unlocked',
  'object.burned',
  'template.created',
  'variation.created',
  'wallet.registered',
  'file.created',
  'action.executed',
  'action.failed',
  'batch.sealed',
  'batch.anchored',
  'anchor.confirmed',
] as const;

interface Wanted {
  readonly type: string;
  readonly object: string;
}

function useEvents({ type, object }: Wanted, isPaused: boolean): { events: readonly EventView[]; error: unknown; clear: () => void } {
  const [events, setEvents] = useState<readonly EventView[]>([]);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (isPaused) return undefined;
    const end = new AbortController();
    setError(null);
    const read = async (): Promise<void> => {
      const client = reader();
      const filters = { ...(type === '' ? {} : { type }), ...(object === '' ? {} : { object_id: object }) };
      const { items } = await client.listEvents({ ...filters, limit: 20, order: 'desc' }, { signal: end.signal });
      if (end.signal.aborted) return;
      setEvents(items);
      // The stream begins at the end of the list.
      const from = items[0] === undefined ? { after_sequence: 0 } : {};
      const options = { signal: end.signal, ...(items[0] === undefined ? {} : { lastEventId: items[0].position }) };
      for await (const event of client.streamEvents({ ...filters, ...from }, options)) {
        setEvents((old) => [event, ...old].slice(0, KEPT_MAX));
      }
    };
    read().catch((failure: unknown) => {
      if (!end.signal.aborted) setError(failure);
    });
    return () => end.abort(new Error('the page was left'));
  }, [type, object, isPaused]);
  return { events, error, clear: () => setEvents([]) };
}

function Details({ of: event }: { of: EventView }) {
  return (
    <>
      <Facts>
        <Fact name="Happened">
          <Time at={event.timestamp} />
        </Fact>
        <Fact name="Sequence">
          <Count of={event.sequence} />, position <Stored text={event.position} />
        </Fact>
        {event.object_id === null ? null : (
          <Fact name="Object">
            <Ref id={event.object_id} />
          </Fact>
        )}
        {event.action_id === null ? null : (
          <Fact name="Action">
            <Ref id={event.action_id} />
          </Fact>
        )}
      </Facts>
      <Json value={event.data} label={`Show details of ${event.position}`} />
    </>
  );
}

/** Live events. */
export function Events() {
  const [opened, setOpened] = useState<string | null>(null);
  const [wanted, setWanted] = useState<Wanted>({ type: '', object: '' });
  const [isPaused, setPaused] = useState(false);
  const { events, error, clear } = useEvents(wanted, isPaused);
  return (
    <Page title="Live events" lead="What happens in your organization, as it happens.">
      <form class="search" aria-label="Which events" onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Type"
          name="type"
          options={[['', 'all'], ...EVENT_TYPES.map((name) => [name, name] as const)]}
          onChange={(event) => setWanted({ ...wanted, type: event.currentTarget.value })}
        />
        <Field label="Object id" name="object" placeholder="obj_…" onChange={(event) => setWanted({ ...wanted, object: event.currentTarget.value.trim() })} />
        <div class="row">
          <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? 'Continue' : 'Pause'}
          </button>
          <button type="button" onClick={clear}>
            Clear
          </button>
          <span class={isPaused || error ? 'state pending' : 'state live'}>{error ? 'ended' : isPaused ? 'paused' : 'live'}</span>
        </div>
      </form>
      <Fault error={error} />
      <div role="log" aria-label="Events">
        <Rows
          label="Events, newest first"
          items={events}
          keyOf={({ id }) => id}
          columns={[
            { name: 'When', show: ({ timestamp: at }) => <Ago at={at} /> },
            { name: 'Event', show: ({ type }) => <strong class="kind">{type}</strong> },
            { name: 'Sequence', show: ({ sequence }) => <Count of={sequence} />, isNumber: true, isWide: true },
            { name: 'Object', show: ({ object_id: object }) => (object === null ? <span class="faint">none</span> : <Short value={object} what="the object’s id" />), isWide: true },
            { name: 'Action', show: ({ action_id: action }) => (action === null ? <span class="faint">none</span> : <Short value={action} what="the action’s id" />), isWide: true },
            {
              name: 'Details',
              show: ({ id, position }) => (
                <button type="button" class="small" aria-expanded={opened === id} aria-label={`Show details of ${position}`} onClick={() => setOpened(opened === id ? null : id)}>
                  {opened === id ? 'Hide' : 'Show'}
                </button>
              ),
            },
          ]}
          under={(event) => (event.id === opened ? <Details of={event} /> : null)}
        />
      </div>
      {events.length === 0 && error === null ? <p class="empty">Nothing has happened yet.</p> : null}
    </Page>
  );
}
