/** Batches as a browsable chain, each verified against its neighbour and its leaves in this page. */

import { type Schemas, nextHead, rootOf, verifyHeader } from '@kedge/sdk';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useLoading, usePaging } from '../loading';
import { MoreOf, Table } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Count, Fact, Facts, Hash, Ref, State, Time } from '../pieces/text';
import { login, reader, trustNow } from '../session';

type BatchView = Schemas['BatchView'];

/** Result of a check, with its reason. */
export function Verdict({ holds, good, bad }: { holds: boolean; good: string; bad: string }) {
  return (
    <span class={holds ? 'verdict good' : 'verdict bad'}>
      <span aria-hidden="true">{holds ? '✓' : '✗'}</span> {holds ? good : bad}
    </span>
  );
}

/** Moves along a chain with the arrow keys, unless a field has the focus. */
export function useWalk(back: string | null, on: string | null): void {
  const [, go] = useLocation();
  useEffect(() => {
    const walk = ({ key, target, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): void => {
      if (altKey || ctrlKey || metaKey || shiftKey || (target as HTMLElement).closest('input, textarea, select, pre, .table')) return;
      if (key === 'ArrowLeft' && back !== null) go(back);
      if (key === 'ArrowRight' && on !== null) go(on);
    };
    addEventListener('keydown', walk);
    return () => removeEventListener('keydown', walk);
  }, [back, on]);
}

/** Links to the neighbours in a chain. */
export function Walk({ back, on, what }: { back: string | null; on: string | null; what: string }) {
  useWalk(back, on);
  return (
    <nav class="row walk" aria-label={`Neighbours of the ${what}`}>
      {back === null ? <span class="faint">The first {what}</span> : <a class="button" href={`#${back}`}>← Earlier</a>}
      {on === null ? <span class="faint">The newest {what}</span> : <a class="button" href={`#${on}`}>Later →</a>}
    </nav>
  );
}

/** The batches. */
export function Batches() {
  const batches = usePaging(() => reader().listBatches({ limit: 30, order: 'desc' }), []);
  const { items } = batches;
  return (
    <Page title="Batches" lead="The log in signed batches of at most 500 actions. Each begins at the head where the one before it ended.">
      <ol class="chain" aria-label="Batches, newest first">
        {items.map((batch, place) => {
          const before = items[place + 1];
          return (
            <li key={batch.id} class="block">
              <p class="row">
                <a href={`#/batches/${batch.id}`}>
                  <strong>Batch {batch.number}</strong>
                </a>
                <State of={batch.status} />
              </p>
              <p class="faint">
                {batch.action_count === 1 ? '1 action' : `${batch.action_count} actions`}, sequence <Count of={batch.first_sequence} />
                {batch.last_sequence === batch.first_sequence ? null : (
                  <>
                    {' '}
                    to <Count of={batch.last_sequence} />
                  </>
                )}
                , <Time at={batch.sealed_at} />
              </p>
              <p class="faint">
                Head <Hash value={batch.head} />
              </p>
              {before === undefined ? null : (
                <p class="link">
                  <Verdict
                    holds={before.number === batch.number - 1 && before.head === batch.previous_head && before.last_sequence === batch.first_sequence - 1}
                    good={`follows batch ${before.number}`}
                    bad={`does not follow batch ${before.number}`}
                  />
                </p>
              )}
            </li>
          );
        })}
      </ol>
      <MoreOf of={batches} none="There are no batches yet." />
    </Page>
  );
}

/** Reason of a check's refusal; null if it passes. */
export function refusalOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Signed part of a batch. */
function signedOf(batch: BatchView): object {
  const { number, first_sequence, action_count: count, previous_head, head, merkle_root: root, history, state, sealed_at_ms, signature } = batch;
  return { header: { number, first_sequence, count, previous_head, head, root, history, state, sealed_at_ms }, signature };
}

interface BatchVerdicts {
  readonly signed: string | null;
  readonly count: boolean;
  readonly leads: boolean;
  readonly chains: boolean;
  readonly follows: boolean | null;
}

/** Verifies a batch in this page: its signature, its leaves and its neighbour. */
async function checked(batch: BatchView): Promise<BatchVerdicts> {
  const client = reader();
  const [{ leaves }, before, trust] = await Promise.all([
    client.getBatchLeaves(String(batch.number)),
    batch.number === 0 ? null : client.getBatch(String(batch.number - 1)),
    trustNow(),
  ]);
  const hashes = leaves as `0x${string}`[];
  return {
    signed: refusalOf(() => verifyHeader(signedOf(batch), trust)),
    count: hashes.length === batch.action_count,
    leads: rootOf(hashes) === batch.merkle_root,
    chains: hashes.reduce<string>((head, leaf) => nextHead(head as `0x${string}`, leaf), batch.previous_head) === batch.head,
    follows: before === null ? null : before.head === batch.previous_head && before.last_sequence === batch.first_sequence - 1,
  };
}

function Checked({ batch }: { batch: BatchView }) {
  const state = useLoading(() => checked(batch), [batch.id]);
  return (
    <Loaded of={state}>
      {({ signed, leads, chains, follows, count }) => (
        <ul class="verdicts">
          <li>
            <Verdict holds={signed === null} good="The sequencer’s key signed its header." bad={`The sequencer’s key did not sign its header: ${signed}.`} />
          </li>
          <li>
            <Verdict holds={count} good="It has as many leaves as actions." bad="It has another number of leaves than actions." />
          </li>
          <li>
            <Verdict holds={leads} good="Its leaves lead to its root." bad="Its leaves lead to another root." />
          </li>
          <li>
            <Verdict holds={chains} good="Chained onto the head before, its leaves give its head." bad="Its leaves give another head." />
          </li>
          {follows === null ? null : (
            <li>
              <Verdict holds={follows} good="It begins where the batch before it ends." bad="It does not begin where the batch before it ends." />
            </li>
          )}
        </ul>
      )}
    </Loaded>
  );
}

type BatchAction = Schemas['BatchAction'];

function Contents({ batch }: { batch: BatchView }) {
  const actions = usePaging(() => reader().listBatchActions(batch.id, { limit: 100 }), [batch.id]);
  const own = (action: BatchAction): Schemas['ActionView'] | null => ('action_type' in action ? action : null);
  return (
    <>
      {actions.items.length > 0 ? (
        <Table<BatchAction>
          label="Actions of the batch"
          items={actions.items}
          keyOf={({ sequence }) => String(sequence)}
          columns={[
            { name: 'Sequence', show: ({ sequence }) => <Count of={sequence} /> },
            {
              name: 'Action',
              show: (action) => {
                const mine = own(action);
                return mine === null ? <span class="faint">another organization’s</span> : <a href={`#/actions/${mine.id}`}>{mine.action_type}</a>;
              },
            },
            { name: 'Leaf', show: ({ leaf }) => <Hash value={leaf} /> },
          ]}
        />
      ) : null}
      <MoreOf of={actions} none="It is empty." />
    </>
  );
}

/** One batch. */
export function OneBatch({ id }: { id: string }) {
  const [newest, setNewest] = useState<number | null>(null);
  const batch = useLoading(async () => {
    const [of, { items: [last] }] = await Promise.all([reader().getBatch(id), reader().listBatches({ limit: 1, order: 'desc' })]);
    setNewest(last?.number ?? null);
    return of;
  }, [id]);
  const { value } = batch;
  const back = value !== null && value.number > 0 ? `/batches/${value.number - 1}` : null;
  const on = value !== null && newest !== null && value.number < newest ? `/batches/${value.number + 1}` : null;
  return (
    <Page title={value === null ? 'Batch' : `Batch ${value.number}`}>
      <Loaded of={batch}>
        {(of) => (
          <>
            <Walk back={back} on={on} what="batch" />
            <Facts>
              <Fact name="Status">
                <State of={of.status} /> {of.anchor_id === null ? null : <a href={`#/anchors/${of.anchor_id}`}>its anchor</a>}
              </Fact>
              <Fact name="Actions">
                <Count of={of.action_count} />: sequence <Count of={of.first_sequence} /> to <Count of={of.last_sequence} />
              </Fact>
              <Fact name="Sealed">
                <Time at={of.sealed_at} />
              </Fact>
              <Fact name="Head before">
                <Hash value={of.previous_head} whole />
              </Fact>
              <Fact name="Head after">
                <Hash value={of.head} whole />
              </Fact>
              <Fact name="Root">
                <Hash value={of.merkle_root} whole />
              </Fact>
              <Fact name="History">
                <Hash value={of.history} whole />
              </Fact>
              <Fact name="Signature">
                <Hash value={of.signature} whole />
              </Fact>
              <Fact name="Id">
                <Ref id={of.id} />
              </Fact>
            </Facts>
            <Part title="Checked in this page">
              <Checked batch={of} />
            </Part>
            <Part title="Actions">{login.value === null ? <LeavesOf batch={of} /> : <Contents batch={of} />}</Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function LeavesOf({ batch }: { batch: BatchView }) {
  const leaves = useLoading(() => reader().getBatchLeaves(batch.id), [batch.id]);
  return (
    <>
      <p class="faint">Log in to see your own actions. To everybody else an action is its leaf.</p>
      <Loaded of={leaves}>
        {({ leaves: hashes }) => (
          <ol class="leaves" start={batch.first_sequence}>
            {hashes.slice(0, 100).map((leaf) => (
              <li key={leaf}>
                <Hash value={leaf} />
              </li>
            ))}
          </ol>
        )}
      </Loaded>
    </>
  );
}
