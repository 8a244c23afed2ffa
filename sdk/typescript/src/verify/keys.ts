/** Sequencer keys, followed from trusted ones: an action under the earlier keys announces each successor. */

import { refuseUnless } from '../refused.js';
import { readStrictly } from '../reading/json.js';
import { address, fileOf, nullOr, shape, some, u64 } from '../reading/shapes.js';
import { within } from './placed.js';
import { verifyProofFile } from './receipts.js';
import { type SequencerKey, type Trust } from './trust.js';

const entry = some('key', { key: address, from_batch: u64, proof: nullOr((value) => value as object) });
const named = shape('payload', { from_batch: u64 });

const listed = (sequencer: Trust['sequencer']): SequencerKey[] =>
  typeof sequencer === 'string' ? [{ key: sequencer, from_batch: 0 }] : [...sequencer];

/**
 * Extends a trust by the keys that a server lists (`listSequencerKeys`) and the log proves. A key known only to the
 * contract is left out: ask the contract if that matters.
 *
 * @throws Refused if the list contradicts the trusted keys, or a proof is invalid
 */
export function followSequencerKeys(items: readonly unknown[], trust: Trust): Trust {
  const keys = listed(trust.sequencer);
  items.map(entry).forEach(({ key, from_batch: from, proof }, i) => {
    const known = keys[i];
    if (known !== undefined) {
      refuseUnless(known.key.toLowerCase() === key && BigInt(known.from_batch) === from, `key ${i} is not the trusted one`);
      return;
    }
    if (proof === null || keys.length !== i) return;
    const { action, batch } = within(`the proof of key ${i}`, () => verifyProofFile(fileOf(proof, readStrictly) as object, { ...trust, sequencer: keys }));
    const { from_batch: stated } = named(readStrictly(action.payload));
    const isNamed = action.kind === 'system.sequencer_key' && action.target.toLowerCase() === key && stated === from;
    refuseUnless(isNamed && batch < from && from > BigInt((keys.at(-1) as SequencerKey).from_batch), `key ${i} is not what its action names`);
    keys.push({ key, from_batch: from });
  });
  return { ...trust, sequencer: keys };
}
