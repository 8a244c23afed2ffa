/** Anchors as a chain: this page verifies that each extends the history of the previous one. */

import { type Schemas, ServerError, checkConsistency, verifyCheckpoint } from '@kedge/sdk';
import { lasting } from '../figures';
import { useLoading, usePaging } from '../loading';
import { MoreOf } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Ago } from '../pieces/ago';
import { Rows, Short } from '../pieces/rows';
import { Count, Fact, Facts, Hash, Ref, State, Time } from '../pieces/text';
import { reader, trustNow } from '../session';
import { Follows, Numbered, Verdict, Walk, refusalOf } from './log';

type AnchorView = Schemas['AnchorView'];
type Hex = `0x${string}`;

/** Signed part of an anchor. */
function signedOf({ batches, sequence, head, root: history, state, issued_at_ms, signature }: AnchorView): object {
  return { checkpoint: { batches, sequence, head, history, state, issued_at_ms }, signature };
}

/** The anchors. */
export function Anchors() {
  const anchors = usePaging(() => reader().listAnchors({ limit: 50, order: 'desc' }), []);
  const { items } = anchors;
  const follows = (anchor: AnchorView, place: number): boolean | null => {
    const before = items[place + 1];
    return before === undefined ? null : before.number === anchor.number - 1 && before.batches <= anchor.batches;
  };
  const interval = (anchor: AnchorView, place: number): string => {
    const before = items[place + 1];
    return before === undefined ? '' : lasting(anchor.issued_at_ms - before.issued_at_ms);
  };
  return (
    <Page title="Anchors" lead="Each anchor is an Ethereum transaction for all batches so far. The contract rejects a root that rewrites the past.">
      <Rows
        label="Anchors, newest first"
        items={items}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Anchor', show: ({ id, number }) => <Numbered path={`/anchors/${id}`} what="Anchor" number={number} /> },
          { name: 'Chain', show: (anchor, place) => <Follows holds={follows(anchor, place)} what="anchor" number={anchor.number} /> },
          { name: 'Issued', show: ({ issued_at: at }) => <Ago at={at} /> },
          { name: 'After', show: interval, isNumber: true, isWide: true },
          {
            name: 'Batches',
            show: ({ first_batch: first, last_batch: last }) => (last === null ? 'none' : first === last ? first : `${first}–${last}`),
            isNumber: true,
          },
          { name: 'Status', show: ({ status }) => <State of={status} /> },
          {
            name: 'Transaction',
            show: ({ tx_hash: hash, number }) => (hash === null ? <span class="faint">not sent yet</span> : <Short value={hash} what={`the transaction of anchor ${number}`} />),
            isWide: true,
          },
          { name: 'Block', show: ({ block_number: block }) => (block === null ? <span class="faint">none</span> : <Count of={block} />), isNumber: true, isWide: true },
        ]}
      />
      <MoreOf of={anchors} none="There are no anchors yet." />
    </Page>
  );
}

interface Neighbours {
  readonly anchor: AnchorView;
  readonly before: AnchorView | null;
  readonly after: AnchorView | null;
  /** Reason for refusing the checkpoint's signature; null if it is valid. */
  readonly signed: string | null;
  /** Reason why its history does not extend the earlier one; null if it does, or if there is none. */
  readonly why: string | null;
}

async function neighboursOf(id: string): Promise<Neighbours> {
  const client = reader();
  const anchor = await client.getAnchor(id);
  const neighbour = (number: number): Promise<AnchorView | null> =>
    number < 0
      ? Promise.resolve(null)
      : client.getAnchor(String(number)).catch((error: unknown) => {
          if (error instanceof ServerError && error.status === 404) return null;
          throw error;
        });
  const [before, after, trust] = await Promise.all([neighbour(anchor.number - 1), neighbour(anchor.number + 1), trustNow()]);
  const signed = refusalOf(() => verifyCheckpoint(signedOf(anchor), trust));
  if (before === null || before.batches === 0) return { anchor, before, after, signed, why: null };
  const { batches, root } = before;
  const { proof } = await client.getConsistencyProof({ from: batches, to: anchor.batches });
  const why = refusalOf(() => checkConsistency(BigInt(batches), BigInt(anchor.batches), root as Hex, anchor.root as Hex, proof as Hex[]));
  return { anchor, before, after, signed, why };
}

/** One anchor. */
export function OneAnchor({ id }: { id: string }) {
  const state = useLoading(() => neighboursOf(id), [id]);
  return (
    <Page title={state.value === null ? 'Anchor' : `Anchor ${state.value.anchor.number}`}>
      <Loaded of={state}>
        {({ anchor, before, after, signed, why }) => (
          <>
            <Walk back={before === null ? null : `/anchors/${before.id}`} on={after === null ? null : `/anchors/${after.id}`} what="anchor" />
            <Facts>
              <Fact name="Status">
                <State of={anchor.status} /> {anchor.attempts > 1 ? `sent ${anchor.attempts} times` : null}
              </Fact>
              <Fact name="Covers">
                <Count of={anchor.batches} /> batches, up to sequence <Count of={anchor.sequence} />
              </Fact>
              <Fact name="New batches">
                <a href={`#/batches/${anchor.first_batch}`}>{anchor.first_batch}</a> to{' '}
                <a href={`#/batches/${anchor.last_batch ?? anchor.first_batch}`}>{anchor.last_batch ?? anchor.first_batch}</a>
              </Fact>
              <Fact name="Issued">
                <Time at={anchor.issued_at} />
              </Fact>
              <Fact name="Transaction">{anchor.tx_hash === null ? 'not sent yet' : <Hash value={anchor.tx_hash} whole />}</Fact>
              <Fact name="Block">{anchor.block_number === null ? 'none yet' : <Count of={anchor.block_number} />}</Fact>
              <Fact name="Contract">
                <Hash value={anchor.contract} whole />
              </Fact>
              <Fact name="History">
                <Hash value={anchor.root} whole />
              </Fact>
              <Fact name="Head">
                <Hash value={anchor.head} whole />
              </Fact>
              <Fact name="Signature">
                <Hash value={anchor.signature} whole />
              </Fact>
              <Fact name="Id">
                <Ref id={anchor.id} />
              </Fact>
            </Facts>
            <Part title="Checked in this page">
              <p>
                <Verdict holds={signed === null} good="The sequencer’s key signed its checkpoint." bad={`The sequencer’s key did not sign its checkpoint: ${signed}.`} />
              </p>
              {before === null || before.batches === 0 ? (
                <p>It is the first anchor: there is no earlier history to extend.</p>
              ) : (
                <Verdict holds={why === null} good={`Its history extends that of anchor ${before.number}.`} bad={`Its history does not extend that of anchor ${before.number}: ${why}.`} />
              )}
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
