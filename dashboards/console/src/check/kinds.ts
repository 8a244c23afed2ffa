/** Recognition of dropped files. */

import { writeJson } from '@kedge/sdk';
import { readExactly } from '@kedge/sdk/verify';

/** Kinds of files that can be verified. */
export type Kind = 'receipt' | 'receipts' | 'proof' | 'state' | 'answer' | 'claim' | 'export';

/** Limit on the size of a file, in bytes: a proof file has a few kB, a claim 10 kB. Exports are larger. */
export const BYTES_MAX = 64 * 1024 * 1024;

/** Limit on files other than exports, in characters. */
const LENGTH_MAX = 8 * 1024 * 1024;

/** A file of a known kind. */
export interface Recognised {
  readonly kind: Kind;
  /** Text to verify: of an answer, the receipt in it. */
  readonly text: string;
}

const has = (value: object, ...names: string[]): boolean => names.every((name) => Object.hasOwn(value, name));

function kindOf(value: unknown): Kind | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  if ((value as { format?: unknown }).format === 'kedge.claim') return 'claim';
  if (has(value, 'action', 'leaf', 'inclusion')) return 'proof';
  if (has(value, 'leaf', 'leaf_index', 'path')) return 'receipt';
  if (has(value, 'actions', 'batch', 'proof')) return 'receipts';
  if (has(value, 'key', 'entry', 'nodes', 'checkpoint')) return 'state';
  if (has(value, 'id', 'state_proof')) return 'answer';
  return null;
}

/** Recognises a file. Throws an Error that lists the accepted kinds. */
export function recognise(text: string): Recognised {
  const [first = ''] = text.slice(0, 2_000).split('\n', 1);
  if (/^\{"type":\s*"log"/.test(first)) return { kind: 'export', text };
  if (text.length > LENGTH_MAX) throw new Error('The file is too large: receipts, proofs and claims have less than 8 MB.');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`The file is no JSON: ${(error as Error).message}.`);
  }
  const kind = kindOf(value);
  // The original text, so that members spelled twice are refused and not lost here.
  if (kind !== null) return { kind, text };
  const receipt = value !== null && typeof value === 'object' ? (readExactly(text) as { receipt?: unknown }).receipt : null;
  const inner = kindOf(receipt);
  if (inner !== null) return { kind: inner, text: writeJson(receipt) };
  throw new Error('This is no receipt, proof file, state proof, claim or export of a log, and no answer with a receipt or a state proof.');
}
