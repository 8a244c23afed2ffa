/** Batches as a browsable chain, each verified against its neighbour and its leaves in this page. */

import { type Schemas, nextHead, rootOf, verifyHeader } from '@kedge/sdk';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useLoading, usePaging } from '../loading';
import { MoreOf } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Ago } from '../pieces/ago';
import { Rows, Short } from '../pieces/rows';
import { Count, Fact, Facts, Hash, Ref, State, Time } from '../pieces/text';
import { login, reader, trustNow } from '../session';
import { readReady, ready } from '../standing';

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
      if (altKey || ctrlKey || metaKey || shiftKey || (target as HTMLElement).closest('input, textarea, select, pre, dialog, .table, .rows')) return;
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

/** Whether each record of a list follows the next one, which is its elder. The oldest shown has none to compare with. */
export function Follows({ holds, what, number }: { holds: boolean | null; what: string; number: number }) {
  if (number === 0) return <span class="faint">the first</span>;
  if (holds === null) return <span class="faint">…</span>;
  return (
    <span class={holds ? 'verdict good' : 'verdict bad'}>
      <span aria-hidden="true">{holds ? '✓' : '✗'}</span>{' '}
      <span class="words">
        {holds ? 'follows' : 'does not follow'} {what} {number - 1}
      </span>
    </span>
  );
}

/** A link to a record by its number. Where the table is narrow, the column’s name says what it is. */
export const Numbered = ({ path, what, number }: { path: string; what: string; number: number }) => (
  <a href={`#${path}`}>
    <span class="words">{what} </span>
    {number}
  </a>
);

/** The batches. */
export function Batches() {
  const batches = usePaging(() => reader().listBatches({ limit: 50, order: 'desc' }), []);
  const { items } = batches;
  const follows = (batch: BatchView, place: number): boolean | null => {
    const before = items[place + 1];
    if (before === undefined) return null;
    return before.number === batch.number - 1 && before.head === batch.previous_head && before.last_sequence === batch.first_sequence - 1;
  };
  return (
    <Page title="Batches" lead="The log in signed batches of at most 500 actions. Each begins at the head where the one before it ended.">
      <Rows
        label="Batches, newest first"
        items={items}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Batch', show: ({ id, number }) => <Numbered path={`/batches/${id}`} what="Batch" number={number} /> },
          { name: 'Chain', show: (batch, place) => <Follows holds={follows(batch, place)} what="batch" number={batch.number} /> },
          { name: 'Sealed', show: ({ sealed_at: at }) => <Ago at={at} /> },
          { name: 'Actions', show: ({ action_count: count }) => <Count of={count} />, isNumber: true },
          {
            name: 'Sequence',
            show: ({ first_sequence: first, last_sequence: last }) => (
              <>
                <Count of={first} />
                {last === first ? null : (
                  <>
                    –<Count of={last} />
                  </>
                )}
              </>
            ),
            isNumber: true,
            isWide: true,
          },
          { name: 'Status', show: ({ status }) => <State of={status} /> },
          { name: 'Head', show: ({ head, number }) => <Short value={head} what={`the head after batch ${number}`} />, isWide: true },
        ]}
      />
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

type BatchAction = Schemas['BatchAction'];

interface BatchVerdicts {
  readonly signed: string | null;
  readonly count: boolean;
  readonly leads: boolean;
  readonly chains: boolean;
  readonly follows: boolean | null;
}

/** Batches that the page has read, for their neighbours. A batch never changes, but for its status and its anchor. */
const read = new Map<number, BatchView>();
const READ_MAX = 200;

async function readBatch(id: string): Promise<BatchView> {
  const batch = await reader().getBatch(id);
  if (read.size >= READ_MAX) read.clear();
  read.set(batch.number, batch);
  return batch;
}

/** The batch before another one. */
const before = async ({ number }: BatchView): Promise<BatchView | null> => (number === 0 ? null : (read.get(number - 1) ?? readBatch(String(number - 1))));

let trusted: { readonly client: unknown; readonly trust: ReturnType<typeof trustNow> } | null = null;

/** The trusted log, read once for a walk along the batches. */
function trustOfWalk(): ReturnType<typeof trustNow> {
  const client = reader();
  if (trusted?.client !== client) {
    const trust = trustNow();
    trusted = { client, trust };
    trust.catch(() => {
      trusted = null;
    });
  }
  return trusted?.trust ?? trustNow();
}

/** Verifies a header with the trusted keys, and if it fails once more with their successors. */
async function refusedHeader(batch: BatchView): Promise<string | null> {
  const refused = async (): Promise<string | null> => {
    const trust = await trustOfWalk();
    return refusalOf(() => verifyHeader(signedOf(batch), trust));
  };
  if ((await refused()) === null) return null;
  trusted = null;
  return refused();
}

/** What a batch holds: its leaves and, for a login, the actions that it may see. */
interface Contents {
  readonly leaves: readonly `0x${string}`[];
  readonly actions: readonly BatchAction[] | null;
}

/** Reads the contents of a batch. With a login its actions have its leaves, so one request is enough. */
async function contentsOf({ number, action_count: count }: BatchView): Promise<Contents> {
  const client = reader();
  if (login.value === null) {
    const { leaves } = await client.getBatchLeaves(String(number));
    return { leaves: leaves as `0x${string}`[], actions: null };
  }
  const actions = await client.listBatchActions(String(number), { limit: 1000 }).take(count + 1);
  return { leaves: actions.map(({ leaf }) => leaf as `0x${string}`), actions };
}

/** Verifies a batch in this page: its signature, its leaves and its neighbour. */
async function checked(batch: BatchView, { leaves }: Contents): Promise<BatchVerdicts> {
  const [neighbour, signed] = await Promise.all([before(batch), refusedHeader(batch)]);
  return {
    signed,
    count: leaves.length === batch.action_count,
    leads: rootOf(leaves) === batch.merkle_root,
    chains: leaves.reduce<string>((head, leaf) => nextHead(head as `0x${string}`, leaf), batch.previous_head) === batch.head,
    follows: neighbour === null ? null : neighbour.head === batch.previous_head && neighbour.last_sequence === batch.first_sequence - 1,
  };
}

function Checked({ batch, contents }: { batch: BatchView; contents: Contents }) {
  const state = useLoading(() => checked(batch, contents), [batch.id, contents]);
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

/** Actions that are shown, until more are asked for. */
const SHOWN = 100;

interface Line {
  readonly sequence: number;
  readonly leaf: string;
  /** Null for another organization's, and without a login. */
  readonly own: Schemas['ActionView'] | null;
}

function linesOf({ first_sequence: first }: BatchView, { leaves, actions }: Contents): Line[] {
  if (actions === null) return leaves.map((leaf, index) => ({ sequence: first + index, leaf, own: null }));
  return actions.map((action) => ({ sequence: action.sequence, leaf: action.leaf, own: 'action_type' in action ? action : null }));
}

function Actions({ batch, contents }: { batch: BatchView; contents: Contents }) {
  const [shown, setShown] = useState(SHOWN);
  const lines = linesOf(batch, contents);
  const isOwn = contents.actions !== null;
  return (
    <>
      {isOwn ? null : <p class="faint">Log in to see your own actions. To everybody else an action is its leaf.</p>}
      <Rows<Line>
        label="Actions of the batch"
        items={lines.slice(0, shown)}
        keyOf={({ sequence }) => String(sequence)}
        columns={[
          { name: 'Sequence', show: ({ sequence }) => <Count of={sequence} />, isNumber: true },
          ...(isOwn
            ? [
                {
                  name: 'Action',
                  show: ({ own }: Line) => (own === null ? <span class="faint">another organization’s</span> : <a href={`#/actions/${own.id}`}>{own.action_type}</a>),
                },
                { name: 'Acted on', show: ({ own }: Line) => (own === null ? null : <Short value={own.resource_id} what="the id" />), isWide: true },
              ]
            : []),
          { name: 'Leaf', show: ({ leaf, sequence }) => <Short value={leaf} what={`the leaf of ${sequence}`} /> },
        ]}
      />
      {lines.length === 0 ? <p class="empty">It is empty.</p> : null}
      {lines.length > shown ? (
        <button type="button" onClick={() => setShown(shown + SHOWN)}>
          More
        </button>
      ) : null}
    </>
  );
}

/** One batch. */
export function OneBatch({ id }: { id: string }) {
  const batch = useLoading(async () => {
    const of = await readBatch(id);
    // The number of batches costs nothing to read.
    if (ready.value === null || of.number >= ready.value.batches - 1) await readReady().catch(() => null);
    return of;
  }, [id]);
  const { value } = batch;
  const contents = useLoading(async () => (value === null ? null : contentsOf(value)), [value?.id, login.value]);
  const newest = ready.value === null ? null : ready.value.batches - 1;
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
            <Loaded of={contents}>
              {(held) =>
                held === null ? (
                  <p class="faint">Reading…</p>
                ) : (
                  <>
                    <Part title="Checked in this page">
                      <Checked batch={of} contents={held} />
                    </Part>
                    <Part title="Actions">
                      <Actions batch={of} contents={held} />
                    </Part>
                  </>
                )
              }
            </Loaded>
          </>
        )}
      </Loaded>
    </Page>
  );
}
