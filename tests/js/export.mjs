// Checks an export of the log from its first batch on, line by line, as docs/PROTOCOL.md describes it.

import { isAddressEqual } from 'viem';
import * as p from './protocol.mjs';
import { checkNextHeader, keyOf } from './receipts.mjs';

function ensure(holds, what) {
  if (!holds) throw new p.Refused(what);
}

/** A request: its signature, and its actions' leaves among those of its batch. */
async function checkRequest(request, { header }, leaves, trust) {
  const hashes = new Array(request.actions.length + request.failed.length);
  request.actions.forEach(({ index, kind, target, payload }) => {
    hashes[index] = p.actionHash({ kind, target, payload, salt: p.saltOf(request.salt_seed, index) });
  });
  for (const { index, action_hash: hash } of request.failed) hashes[index] = hash;
  const digest = p.requestDigest(trust.domain, request, hashes);
  ensure(isAddressEqual(await p.recoverSigner(digest, request.signature), request.signer), 'another key signed');
  ensure(request.timestamp_ms <= header.sealed_at_ms && request.timestamp_ms <= request.deadline * 1000, 'the time does not fit');
  request.actions.forEach((action, i) => {
    const authority = p.authorityOf(request.signature, p.saltOf(request.salt_seed, action.index));
    const content = p.contentOf({ ...action, signer: request.signer, authority });
    const sequence = request.first_sequence + i;
    const integrity = p.nextIntegrity(action.previous_integrity, content);
    const leaf = p.leafOf({ sequence, timestamp_ms: request.timestamp_ms, content, integrity });
    ensure(leaf === leaves[sequence - header.first_sequence], `sequence ${sequence} is not what its leaf says`);
  });
}

/** Checks an export's text against {domain, sequencer}; returns its checkpoint and the number of opened actions. */
export async function checkExport(text, trust) {
  ensure(text.endsWith('\n'), 'the export is cut off');
  const [log, ...lines] = text.trimEnd().split('\n').map((line) => JSON.parse(line));
  const domain = p.separator(trust.domain);
  ensure(log.type === 'log' && log.version === 1 && log.from === 0 && log.head === domain, 'it begins elsewhere');
  ensure(isAddressEqual(log.sequencer, keyOf(trust.sequencer, log.from)), 'it names another sequencer');
  const hashes = [];
  let last = null;
  let opened = 0;
  let end = null;
  for (const line of lines) {
    ensure(end === null, 'nothing follows the checkpoint');
    if (line.type === 'batch') {
      await checkNextHeader(line.batch, line.leaves, 0, last?.batch.header ?? null, hashes, trust);
      hashes.push(p.batchHash(line.batch.header));
      last = line;
    } else if (line.type === 'request') {
      await checkRequest(line, last.batch, last.leaves, trust);
      opened += line.actions.length;
    } else {
      ensure(line.type === 'checkpoint', 'an unknown line');
      end = line;
    }
  }
  ensure(end !== null, 'the export ends before its checkpoint');
  const { checkpoint, signature } = end;
  const digest = p.digestOf(trust.domain, 'Checkpoint', p.checkpointMessage(checkpoint));
  const signer = keyOf(trust.sequencer, Math.max(checkpoint.batches - 1, 0));
  ensure(isAddressEqual(await p.recoverSigner(digest, signature), signer), 'another key signed the checkpoint');
  const root = p.rootOf(hashes.map(p.logLeaf));
  const { header } = last.batch;
  ensure(checkpoint.batches === hashes.length && checkpoint.history === root && checkpoint.head === header.head, 'the checkpoint is elsewhere');
  return { checkpoint, opened };
}
