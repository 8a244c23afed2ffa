/** Exports of the log, verified line by line. */

import { refuseUnless } from '../refused.js';
import type { Hex } from '../protocol/bytes.js';
import { authorityOf, contentOf, leafOf, nextIntegrity } from '../protocol/chain.js';
import { keptSignature } from '../protocol/curve.js';
import { type Checkpoint, type Header, actionHash, checkpointHash, consentDigest, digestOf, requestDigest, saltOf, separatorOf } from '../protocol/domain.js';
import { readStrictly } from '../reading/json.js';
import { address, decimal, flag, listOf, some, text, u32, u64, word, words } from '../reading/shapes.js';
import { Follower } from './followed.js';
import * as forms from './forms.js';
import { ACTIONS_MAX, checkLog, checkSigner, within } from './placed.js';
import { type Trust, keyOf } from './trust.js';

const logLine = some('log', { version: u32, domain: forms.domain, from: u64, head: word, sequencer: address });
const batchLine = some('batch line', { batch: (value) => value, leaves: words });
const checkpointLine = some('checkpoint line', { checkpoint: forms.checkpoint, signature: keptSignature });
const done = some('action', { index: u32, kind: text, target: text, payload: text, previous_integrity: word });
const failed = some('failed action', { index: u32, action_hash: word });
const requestLine = some('request', {
  first_sequence: u64,
  timestamp_ms: u64,
  signer: address,
  nonce: decimal,
  deadline: u64,
  atomic: flag,
  signature: keptSignature,
  salt_seed: word,
  actions: listOf(done, ACTIONS_MAX),
  failed: listOf(failed, ACTIONS_MAX),
});

/** Facts shown by a valid export. */
export interface ExportFacts {
  /** The signed checkpoint at its end: compare it with another source, such as the contract. */
  readonly checkpoint: Checkpoint;
  /** Number of actions shown in full, with their signatures. */
  readonly opened: number;
  /** Number of keys added to a wallet without consent: possible only in a log older than the rule. */
  readonly additionsWithoutConsent: number;
}

type Request = ReturnType<typeof requestLine>;

function checkRequest(request: Request, header: Header, leaves: readonly Hex[], trust: Trust): void {
  const { signer, signature, salt_seed: seed, timestamp_ms: time } = request;
  const hashes: Hex[] = [];
  const place = (index: bigint, hash: Hex): void => {
    refuseUnless(hashes[Number(index)] === undefined && index < ACTIONS_MAX, `two actions are at index ${index}`);
    hashes[Number(index)] = hash;
  };
  for (const { index, ...action } of request.actions) place(index, actionHash({ ...action, salt: saltOf(seed, Number(index)) }));
  for (const { index, action_hash: hash } of request.failed) place(index, hash);
  refuseUnless(hashes.length === request.actions.length + request.failed.length, 'an action of the request is missing');
  checkSigner(requestDigest(trust.domain, request, hashes), signature, signer, 'the request');
  refuseUnless(time <= header.sealed_at_ms && time <= request.deadline * 1000n, 'the time is not before seal and deadline');
  request.actions.forEach(({ index, previous_integrity: previous, ...action }, i) => {
    const authority = authorityOf(signature, saltOf(seed, Number(index)));
    const content = contentOf({ ...action, signer, authority });
    const sequence = request.first_sequence + BigInt(i);
    const leaf = leafOf({ sequence, timestamp_ms: time, content, integrity: nextIntegrity(previous, content) });
    refuseUnless(leaf === leaves[Number(sequence - header.first_sequence)], `sequence ${sequence} is not what its leaf commits to`);
  });
}

const keyAddition = some('key addition', { address });

/** Verifies the consents of all keys that a request adds to a wallet. Returns the number of keys without one. */
function checkConsents({ actions }: Request, { domain }: Trust): number {
  let without = 0;
  for (const { kind, target, payload } of actions) {
    if (kind !== 'wallet.key_add') continue;
    const value = readStrictly(payload);
    const { address: key } = keyAddition(value);
    const { possession } = value as { possession?: unknown };
    if (possession == null) without += 1;
    else checkSigner(consentDigest(domain, target, key), keptSignature(possession), key, `the possession of key ${key}`);
  }
  return without;
}

/** Verifies the lines of an export in order. */
class ExportReader {
  readonly #follower: Follower;
  #leaves: readonly Hex[] = [];
  #opened = 0;
  #additionsWithoutConsent = 0;
  #begun = false;
  #end: Checkpoint | null = null;

  constructor(readonly trust: Trust) {
    this.#follower = new Follower(trust);
  }

  line(line: string): void {
    const value = readStrictly(line);
    const { type } = some('line', { type: text })(value);
    refuseUnless(this.#end === null, 'something follows the checkpoint');
    if (!this.#begun) {
      this.#begin(type, value);
    } else if (type === 'batch') {
      const { batch, leaves } = batchLine(value);
      this.#follower.accept(batch, leaves);
      this.#leaves = leaves;
    } else if (type === 'request') {
      const { last } = this.#follower;
      refuseUnless(last !== null, 'a request comes before the first batch');
      const request = requestLine(value);
      checkRequest(request, last, this.#leaves, this.trust);
      this.#opened += request.actions.length;
      this.#additionsWithoutConsent += checkConsents(request, this.trust);
    } else {
      refuseUnless(type === 'checkpoint', `the type ${JSON.stringify(type)} is unknown`);
      this.#finish(value);
    }
  }

  #begin(type: string, value: unknown): void {
    refuseUnless(type === 'log', 'the first line is not the log');
    const log = logLine(value);
    checkLog(log, this.trust);
    refuseUnless(log.from === 0n && log.head === separatorOf(this.trust.domain), 'it begins after batch 0');
    refuseUnless(log.sequencer === keyOf(this.trust.sequencer, 0n), 'it names another sequencer');
    this.#begun = true;
  }

  #finish(value: unknown): void {
    const { checkpoint, signature } = checkpointLine(value);
    const { last, tree } = this.#follower;
    const signer = keyOf(this.trust.sequencer, checkpoint.batches > 0n ? checkpoint.batches - 1n : 0n);
    checkSigner(digestOf(this.trust.domain, checkpointHash(checkpoint)), signature, signer, 'the checkpoint');
    const head = last?.head ?? separatorOf(this.trust.domain);
    const sequence = last === null ? 0n : last.first_sequence + last.count - 1n;
    const isHere = checkpoint.batches === BigInt(tree.size) && checkpoint.history === tree.root();
    refuseUnless(isHere && checkpoint.head === head && checkpoint.sequence === sequence, 'the checkpoint is elsewhere');
    this.#end = checkpoint;
  }

  facts(): ExportFacts {
    refuseUnless(this.#end !== null, 'the export ends before its checkpoint');
    return { checkpoint: this.#end, opened: this.#opened, additionsWithoutConsent: this.#additionsWithoutConsent };
  }
}

/**
 * Verifies an export from batch 0 on: every header, leaf, head and history, and the signatures of the shown requests.
 * Takes the whole text or chunks of it, such as the stream of `exportLog`.
 *
 * @throws Refused if a line is invalid, with the line
 */
export async function verifyExport(pieces: string | Iterable<string> | AsyncIterable<string>, trust: Trust): Promise<ExportFacts> {
  const reader = new ExportReader(trust);
  let rest = '';
  let number = 0;
  for await (const piece of typeof pieces === 'string' ? [pieces] : pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) {
      number += 1;
      within(`line ${number}`, () => reader.line(line));
    }
  }
  refuseUnless(rest === '', 'the export is cut off within a line');
  return reader.facts();
}
