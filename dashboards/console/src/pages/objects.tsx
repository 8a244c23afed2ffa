/** Objects: the list with its search, and one object with its history. */

import type { Listing, Schemas } from '@kedge/sdk';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useDoing, useLoading, usePaging } from '../loading';
import { textOf } from '../fields';
import { Choice, Field, Form } from '../pieces/forms';
import { List, MoreOf } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part, Signed } from '../pieces/page';
import { ItsProof } from '../pieces/proven';
import { Copy, Count, Fact, Facts, Hash, Json, Ref, State, Time } from '../pieces/text';
import { reader } from '../session';
import { OPERATORS, filterOf } from '../searching';
import { Act } from './act';

type ObjectView = Schemas['ObjectView'];
type Filter = Schemas['Filter'];

/** The objects of the organization. */
export function Objects() {
  const [, go] = useLocation();
  const [filter, setFilter] = useState<Filter | null>(null);
  const objects = usePaging<Schemas['PageOfObjectView']>(() => {
    const client = reader();
    if (filter === null) return client.listObjects({ limit: 50, order: 'desc' });
    return client.searchObjects({ filter, limit: 50 }) as Listing<Schemas['PageOfObjectView']>;
  }, [filter]);
  const search = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const id = textOf(form, 'id');
    if (id !== null) go(`/objects/${encodeURIComponent(id)}`);
    else setFilter(filterOf(form));
  };
  return (
    <Page title="Objects">
      <form class="search" role="search" aria-label="Find objects" onSubmit={search} onReset={() => setFilter(null)}>
        <Field label="Object id" name="id" placeholder="obj_…" />
        <Field label="Template id" name="template_id" placeholder="tpl_…" />
        <Choice
          label="Status"
          name="status"
          options={[
            ['', 'any'],
            ['active', 'active'],
            ['locked', 'locked'],
            ['burned', 'burned'],
          ]}
        />
        <Field label="Property" name="property" placeholder="seat.row" />
        <Choice label="Comparison" name="op" options={OPERATORS} />
        <Field label="Value" name="value" placeholder="12" />
        <div class="row">
          <button class="main">Find</button>
          <button type="reset">Show all</button>
        </div>
      </form>
      <List
        label="Objects"
        of={objects}
        keyOf={({ id }) => id}
        none={filter === null ? 'There are no objects yet. Mint one from a template.' : 'No object matches.'}
        columns={[
          { name: 'Object', show: ({ id }) => <Ref id={id} /> },
          { name: 'Status', show: ({ status }) => <State of={status} /> },
          { name: 'Template', show: ({ template_id: id }) => <Ref id={id} /> },
          { name: 'Owner', show: ({ owner_address: owner }) => <Hash value={owner} /> },
          { name: 'Version', show: ({ version }) => <Count of={version} />, isNumber: true },
          { name: 'Changed', show: ({ updated_at: at }) => <Time at={at} /> },
        ]}
      />
    </Page>
  );
}

function History({ id, turn }: { id: string; turn: number }) {
  const history = usePaging(() => reader().listObjectHistory(id, { limit: 50 }), [id, turn]);
  return (
    <>
      <ol class="timeline" aria-label="History">
        {history.items.map((action) => (
          <li key={action.id}>
            <p>
              <strong class="kind">{action.action_type}</strong> <a href={`#/actions/${action.id}`}>version {action.object_version}</a> at sequence{' '}
              <Count of={action.sequence} />
            </p>
            <p class="faint">
              <Time at={action.timestamp} />, signed by <Hash value={action.signer} />
            </p>
            <details>
              <summary>Payload of version {action.object_version}</summary>
              <Json value={action.payload} label={`Payload of version ${action.object_version}`} />
            </details>
          </li>
        ))}
      </ol>
      <MoreOf of={history} none="There is no history." />
    </>
  );
}

function Past({ id, newest }: { id: string; newest: number }) {
  const [past, setPast] = useState<ObjectView | null>(null);
  const doing = useDoing(async (form: FormData) => {
    const at = Number(form.get('sequence'));
    setPast(await reader().getObject(id, { at_sequence: at }));
  });
  return (
    <details>
      <summary>As it once was</summary>
      <Form label="As it once was" submit="Show" doing={doing}>
        <Field label="Sequence of the log" name="sequence" type="number" min={1} defaultValue={String(newest)} required />
      </Form>
      {past === null ? null : (
        <>
          <p>
            Version {past.version}, <State of={past.status} />
          </p>
          <Json value={past.properties} label={`Properties of version ${past.version}`} />
        </>
      )}
    </details>
  );
}

/** The way to the history further down the page. */
function ToHistory() {
  const show = (): void => {
    const history = document.querySelector('.timeline');
    history?.scrollIntoView({ block: 'center' });
  };
  return (
    <button type="button" class="link" onClick={show}>
      see the history
    </button>
  );
}

/** One object with its history. */
export function OneObject({ id }: { id: string }) {
  const [turn, setTurn] = useState(0);
  const object = useLoading(() => reader().getObject(id), [id, turn]);
  return (
    <Page title="Object">
      <Loaded of={object}>
        {(of) => (
          <>
            <Facts>
              <Fact name="Id">
                <Hash value={of.id} whole /> <Copy text={of.id} what="the id" />
              </Fact>
              <Fact name="Status">
                <State of={of.status} />
              </Fact>
              <Fact name="Template">
                <Ref id={of.template_id} />
              </Fact>
              <Fact name="Owner">
                <Hash value={of.owner_address} whole />
              </Fact>
              <Fact name="Version">
                <Count of={of.version} />
              </Fact>
              <Fact name="Minted">
                <Time at={of.created_at} />
              </Fact>
              <Fact name="Changed">
                <Time at={of.updated_at} /> at sequence <Count of={of.sequence} />
              </Fact>
              <Fact name="Integrity">
                <Hash value={of.integrity_hash} whole />
              </Fact>
            </Facts>
            <ItsProof of={of} link={<ToHistory />} onStale={object.reload} />
            <Part title="Properties">
              <Json value={of.properties} label="Properties" />
              <Past id={id} newest={of.sequence} />
            </Part>
            <Part title="Do something with it">
              <Signed>
                <Act object={of} onDone={() => setTurn(turn + 1)} />
              </Signed>
            </Part>
            <Part title="History">
              <History id={id} turn={turn} />
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
