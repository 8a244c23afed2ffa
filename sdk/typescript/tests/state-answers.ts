// State proofs as a server answers them, signed by a key of the tests.

import { type StateTexts, decodeEntry, domainOf } from '@kedge/sdk/verify';
import { type Hex, fromHex } from '#dist/protocol/bytes.js';
import { addressOfKey, signDigest } from '#dist/protocol/curve.js';
import { type Checkpoint, checkpointHash, digestOf } from '#dist/protocol/domain.js';
import { EMPTY, ZERO } from '#dist/protocol/hash.js';

export const key: Hex = `0x${'01'.repeat(32)}`;
const domain = domainOf(31337n, `0x${'ab'.repeat(20)}`);

/** What the readers of these answers trust. */
export const trust = { domain, sequencer: addressOfKey(fromHex(key)) };

export interface StateAnswer extends Record<string, unknown> {
  key: string;
  present: boolean;
  entry: string;
  fields: unknown;
  texts: StateTexts;
  nodes: string[];
  checkpoint: { checkpoint: { -readonly [Name in keyof Checkpoint]: Checkpoint[Name] }; signature: Hex };
}

export const signedCheckpoint = (checkpoint: Checkpoint, signer: Hex = key): StateAnswer['checkpoint'] => ({
  checkpoint: { ...checkpoint },
  signature: signDigest(digestOf(domain, checkpointHash(checkpoint)), fromHex(signer)),
});

export const checkpointOf = (state: Hex, sequence: bigint): Checkpoint => ({ batches: 3n, sequence, head: ZERO, history: EMPTY, state, issued_at_ms: 1_700_000_000_000n });

/** `fields` of a well-formed entry. */
export function fieldsOf(id: string, entry: Hex, sequence: bigint): Record<string, unknown> {
  const { type: _, ...fields } = decodeEntry(id, fromHex(entry), sequence);
  return { ...fields };
}

interface AnswerParts {
  key: string;
  root: Hex;
  entry: Hex;
  nodes: string[];
  sequence: bigint;
  fields?: unknown;
  texts?: StateTexts;
}

export function answerOf({ key: id, root, entry, nodes, sequence, fields, texts = {} }: AnswerParts): StateAnswer {
  const present = entry !== '0x';
  const shown = fields === undefined && present ? fieldsOf(id, entry, sequence) : (fields ?? null);
  return { key: id, present, entry, fields: shown, texts, nodes, checkpoint: signedCheckpoint(checkpointOf(root, sequence)), anchor: null };
}
