/** Anchors as a chain: this page verifies that each extends the history of the previous one. */

import { type Schemas, checkConsistency, verifyCheckpoint } from '@kedge/sdk';
import { useLoading, usePaging } from '../loading';
import { MoreOf } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Count, Fact, Facts, Hash, Ref, State, Time } from '../pieces/text';
import { reader, trustNow } from '../session';
import { Verdict, Walk, refusalOf } from './log';

type AnchorView = Schemas['AnchorView'];
type Hex = `0x${string}`;

/** Signed part of an anchor. */
function signedOf({ batches, sequence, head, root: history, state, issued_at_ms, signature }: AnchorView): object {
  return { checkpoint: { batches, sequence, head, history, state, issued_at_ms }, signature };
}

/** The anchors. */
export function Anchors() {
  const anchors = usePaging(() => reader().listAnchors({ limit: 30, order: 'desc' }), []);
  return (
    <Page title="Anchors" lead="Each anchor is an Ethereum transaction for all batches so far. The contract rejects a root that rewrites the past.">
      <ol class="chain" aria-label="Anchors, newest first">
        {anchors.items.map((anchor, place) => {
          const before = anchors.items[place + 1];
          return (
            <li key={anchor.id} class="block">
              <p class="row">
                <a href={`#/anchors/${anchor.id}`}>
                  <strong>Anchor {anchor.number}</strong>
                </a>
                <State of={anchor.status} />
              </p>
              <p class="faint">
                Batches {anchor.first_batch} to {anchor.last_batch ?? anchor.first_batch}, <Time at={anchor.issued_at} />
              </p>
              <p class="faint">
                {anchor.tx_hash === null ? 'Not sent yet' : <>Transaction <Hash value={anchor.tx_hash} /></>}
                {anchor.block_number === null ? null : <> in block <Count of={anchor.block_number} /></>}
              </p>
              {before === undefined ? null : (
                <p class="link">
                  <Verdict holds={before.number === anchor.number - 1 && before.batches <= anchor.batches} good={`follows anchor ${before.number}`} bad={`does not follow anchor ${before.number}`} />
                </p>
              )}
            </li>
          );
        })}
      </ol>
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
  let before: AnchorView | null = null;
  let after: AnchorView | null = null;
  // There are only a few anchors a day. The list is in the order of their numbers.
  for await (const one of client.listAnchors({ limit: 1000, order: 'desc' })) {
    if (one.number === anchor.number + 1) after = one;
    if (one.number === anchor.number - 1) before = one;
    if (one.number < anchor.number) break;
  }
  const trust = await trustNow();
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
