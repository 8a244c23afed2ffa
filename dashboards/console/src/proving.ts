/** State proofs of shown objects and templates: reading one, and how it stands to what the page shows. */

import { type Schemas, type StateEntry, type StateProof, Contradiction, Refused, ServerError, StateMismatch, answerInfo, checkShown } from '@kedge/sdk';
import { useEffect, useState } from 'preact/hooks';
import type { ExactObject } from './schema/exact';
import { reader } from './session';

/** A shown object or template. */
export type ShownItem = Schemas['ObjectView'] | Schemas['TemplateView'];

type StateAnswer = Schemas['StateProof'];

/** How a resource's proof stands to what the page shows. */
export type Standing =
  /** What is shown is proven. */
  | { readonly kind: 'proven'; readonly proof: StateProof }
  /** The proof is of before the last changes; their number is 0 if only a template's counts have changed. */
  | { readonly kind: 'behind'; readonly proof: StateProof; readonly changes: bigint }
  /** The proof is of after a change that the page does not show. */
  | { readonly kind: 'ahead'; readonly proof: StateProof }
  /** There is no proof yet. */
  | { readonly kind: 'open'; readonly why: string }
  /** The server's answer does not hold; `evidence` is what to keep. */
  | { readonly kind: 'bad'; readonly error: unknown; readonly evidence: unknown };

/** Counts of a template that change without a new version of it. */
const COUNTS = ['minted_count', 'burned_count', 'variation_count'] as const;

type Counts = { readonly [Name in (typeof COUNTS)[number]]?: number | bigint };

/** Whether no count is less than the other's. */
const hasGrown = (later: Counts, earlier: Counts): boolean => COUNTS.every((name) => BigInt(later[name] ?? 0) >= BigInt(earlier[name] ?? 0));

/** Why what is shown differs from the entry: 'later' is shown, 'earlier', or neither can be (null). */
function orderOf(shown: ShownItem, entry: StateEntry, mismatch: StateMismatch): 'later' | 'earlier' | null {
  const version = BigInt(shown.version);
  if (version !== entry.version) return version > entry.version ? 'later' : 'earlier';
  const areCounts = mismatch.members.every((member) => (COUNTS as readonly string[]).includes(member));
  if (!areCounts) return null;
  const [own, proven] = [shown as Counts, entry as Counts];
  return hasGrown(own, proven) ? 'later' : hasGrown(proven, own) ? 'earlier' : null;
}

/**
 * How a verified proof stands to what is shown. The page read the item when the log had reached `readAt`.
 *
 * @throws Refused if both cannot be true
 */
export function standingOf(shown: ShownItem, readAt: bigint, proof: StateProof): Standing {
  const { entry, checkpoint } = proof;
  // What the checkpoint covers is in the proof.
  const isCovered = checkpoint.sequence >= readAt;
  if (entry === null) {
    if (isCovered) checkShown(shown, proof);
    return { kind: 'open', why: 'it was made after the newest checkpoint' };
  }
  try {
    checkShown(shown, proof);
    return { kind: 'proven', proof };
  } catch (error) {
    if (!(error instanceof StateMismatch)) throw error;
    const order = orderOf(shown, entry, error);
    if (order === 'later' && !isCovered) return { kind: 'behind', proof, changes: BigInt(shown.version) - entry.version };
    if (order === 'earlier' && checkpoint.sequence > readAt) return { kind: 'ahead', proof };
    throw error;
  }
}

/** Options of a read. */
interface ReadTerms {
  readonly signal: AbortSignal;
  /** Sequence to wait for. */
  readonly minSequence?: bigint;
  readonly wait?: number;
}

/** Seconds to wait for a checkpoint that covers what is shown. */
const WAIT_S = 60;

async function standingNow(shown: ShownItem, exact: ExactObject, readAt: bigint, terms: ReadTerms): Promise<Standing> {
  const client = reader();
  let answer: StateAnswer | null = null;
  const options = { ...terms, onAnswer: (read: StateAnswer) => void (answer = read) };
  try {
    const proof = await (shown.id.startsWith('obj_') ? client.objects : client.templates).stateProof(shown.id, options);
    return standingOf(shown, readAt, proof);
  } catch (error) {
    if (error instanceof Contradiction) return { kind: 'bad', error, evidence: error.evidence };
    if (error instanceof Refused) return { kind: 'bad', error, evidence: { ...exact, state_proof: answer } };
    if (error instanceof ServerError) return { kind: 'open', why: error.body.message };
    return { kind: 'open', why: error instanceof Error ? error.message : String(error) };
  }
}

/** What the page knows about the proof of what it shows. */
export interface Proving {
  /** Null while the first proof is being read. */
  readonly standing: Standing | null;
  /** Whether the page waits for a newer checkpoint. */
  readonly isWaiting: boolean;
  readonly again: () => void;
}

/**
 * Reads the proof of a shown item in the background, and waits for a checkpoint that covers the item if none does yet. What is
 * kept of a wrong answer has the item's numbers as the server spelled them.
 */
export function useProving(shown: ShownItem, exact: ExactObject): Proving {
  const [standing, setStanding] = useState<Standing | null>(null);
  const [isWaiting, setWaiting] = useState(false);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    const isCurrent = (): boolean => !signal.aborted;
    const readAt = answerInfo(shown).sequence ?? BigInt(shown.sequence);
    const read = async (): Promise<void> => {
      const first = await standingNow(shown, exact, readAt, { signal });
      if (!isCurrent()) return;
      setStanding(first);
      if (first.kind !== 'open' && first.kind !== 'behind') return;
      setWaiting(true);
      const next = await standingNow(shown, exact, readAt, { signal, minSequence: readAt, wait: WAIT_S });
      if (!isCurrent()) return;
      // A refusal to wait says less than an older proof.
      if (next.kind !== 'open' || first.kind === 'open') setStanding(next);
      setWaiting(false);
    };
    setStanding(null);
    setWaiting(false);
    void read();
    return () => ending.abort();
  }, [shown, turn]);
  return { standing, isWaiting, again: () => setTurn(turn + 1) };
}
