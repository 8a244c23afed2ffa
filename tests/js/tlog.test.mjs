// The log as C2SP tiles, against every member of crates/protocol/vectors/tlog.json, and what the vectors leave out.

import assert from 'node:assert/strict';
import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js';
import { bytesToHex, concat, hexToBytes, keccak256, numberToHex, sha256, stringToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import * as p from './protocol.mjs';
import { Refused } from './reading.mjs';
import { checkEntryAnswer, verifyTlogFault } from './tlog-faults.mjs';
import * as notes from './tlog-notes.mjs';
import * as tlog from './tlog.mjs';

const vectors = JSON.parse(readFileSync(new URL('../../crates/protocol/vectors/tlog.json', import.meta.url), 'utf8'));
const domain = p.domainOf(vectors.domain.chainId, vectors.domain.verifyingContract);
const sequencer = vectors.sequencer_keys.map(({ address, from_batch }) => ({ key: address, from_batch }));
const known = [...Object.values(vectors.tlog_keys), ...Object.values(vectors.witness_keys)].map(({ vkey }) => vkey);
const trust = { domain, sequencer, known };

const refuses = (call, why) => assert.throws(call, Refused, why);
const refusesLater = (promise, why) => assert.rejects(promise, Refused, why);
// What the vectors call a reason, and what these checks say: a refusal for another reason would hide that a check is missing.
const REASONS = [
  [/^(0|2) lines of ours$/, /^[02] lines of the sequencer's key$/],
  [/^not by the sequencer key$/, /^not signed by the sequencer key/],
  [/^our line has 97 bytes$/, /has 97 bytes$/],
  [/^high s$/, /^s is at most half the order$/],
  [/^v$/, /^v is 27 or 28$/],
  [/^the line of .* fails$/, /^the line of .* fails$/],
  [/^three lines of text$/, /three lines of text$/],
  [/^an empty log has no note$/, /^an empty log has no note$/],
  [/^(size|index)$/, /no decimal number|the header is of another batch|indices lie below the count/],
  [/^root$/, /^(no 32 bytes|another base64)$/],
  [/^origin$/, /^the origin is not of this log$/],
  [/^no empty line$/, /^no empty line/],
  [/^signature line|^base64 of a line$/, /^no signature line/],
  [/^control characters$/, /^control characters$/],
  [/^UTF-8$/, /^no UTF-8$/],
  [/^inclusion$|^the header does not lead to root$/, /^the header (is )?of another batch$|leads to another root$/],
  [/^320 bytes$/, /^an entry has 320 bytes$/],
  [/^extra$/, /^no extra, or no index after it$/],
  [/too short$|^consistency$/, /too short$|leads to other roots$|too long$/],
  [/too long$/, /too long$/],
  [/^first line$/, /^no \.tlog-proof of version 1$/],
  [/^no conflict$|^two sizes$|^it is its history$|^the entry is held's$/, /^nothing contradicts$/],
  [/^batches 0$/, /^no key signs an empty log$/],
  [/^above the anchored batches$/, /^sizes are at least 1 and do not fall$/],
  [/^above 65,535 bytes$/, /more than an entry holds$/],
  [/does not lead to (root|history)$|^verifyBatch does not find it$/, /leads to another root$/],
  [/^not below a checkpoint$/, /^the batch is not below the checkpoint$/],
];
const refusedBy = (verdict, { why, refused_by: reason }) =>
  assert.rejects(verdict, (error) => {
    const [, said] = REASONS.find(([name]) => name.test(reason)) ?? [];
    assert.ok(error instanceof Refused && said?.test(error.message), `${why}: ${reason}: ${error.message}`);
    return true;
  }, why);

const bytesOf = ({ note, note_hex: hex }) => (hex === undefined ? note : hexToBytes(hex));
const wholeNote = ({ text, lines }) => `${text}\n${lines.ed25519}\n${lines.mldsa}\n${lines.ours}\n`;
const noteOf = (batches) => vectors.notes.find((note) => note.batches === batches);

const base64 = (...parts) => Buffer.from(hexToBytes(concat(parts))).toString('base64');
const madeKey = (name, type, key) => `${name}+${sha256(concat([stringToHex(`${name}\n`), type, key])).slice(2, 10)}+${base64(type, key)}`;
const madeLine = (name, id, ...parts) => `— ${name} ${base64(`0x${id}`, ...parts)}`;
const u64 = (number) => numberToHex(number, { size: 8 });

function signEd25519(seed, text) {
  // RFC 8410: what stands before a seed in PKCS 8.
  const key = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), hexToBytes(seed)]);
  return bytesToHex(sign(null, Buffer.from(text), createPrivateKey({ key, format: 'der', type: 'pkcs8' })));
}

/** The line of an ML-DSA key over a note, and its verifier key. Without randomness, as FIPS 204 allows. */
function signMldsa({ seed, vkey }, note, time) {
  const { name, id, key } = notes.verifierKey(vkey);
  const pair = ml_dsa44.keygen(hexToBytes(seed));
  assert.equal(bytesToHex(pair.publicKey), key);
  const message = hexToBytes(notes.cosignedMessage(note, name, time));
  return madeLine(name, id, u64(time), bytesToHex(ml_dsa44.sign(message, pair.secretKey, { extraEntropy: false })));
}

function cosignEd25519({ seed, vkey }, text, time) {
  const { name, id } = notes.verifierKey(vkey);
  return madeLine(name, id, u64(time), signEd25519(seed, `cosignature/v1\ntime ${time}\n${text}`));
}

/** The first 300 headers: those that the vectors show, and those that they describe. */
function allHeaders() {
  const messages = vectors.headers.map(({ message }) => message);
  const logLeaves = messages.map((message) => p.logLeaf(p.structHash('Batch', message)));
  for (let number = messages.length; number < 300; number += 1) {
    const firstSequence = number + 6;
    const leaf = keccak256(concat(['0x00', numberToHex(firstSequence, { size: 8 })]));
    const previousHead = messages[number - 1].head;
    const head = keccak256(concat([previousHead, leaf]));
    const message = { number, firstSequence, count: 1, previousHead, head, root: leaf, history: p.rootOf(logLeaves), state: p.ZERO, sealedAt: 1790000000100 + number };
    messages.push(message);
    logLeaves.push(p.logLeaf(p.structHash('Batch', message)));
  }
  return { messages, logLeaves, entries: messages.map(tlog.entryOf) };
}

const log = allHeaders();
const leaves = log.entries.map(tlog.leafOf);
const rootAt = (size) => tlog.rootOf(leaves.slice(0, Number(size)));
const historyAt = (size) => p.rootOf(log.logLeaves.slice(0, Number(size)));

test('every member of the vectors is one that these tests hold', () => {
  assert.deepEqual(Object.keys(vectors), [
    ...['about', 'checked_by', 'chosen', 'c2sp', 'domain', 'domain_separator', 'keys_about', 'sequencer_keys', 'delegate', 'tlog_keys'],
    ...['witness_keys', 'type', 'origins', 'origin', 'headers_about', 'headers', 'last_of_300', 'roots', 'roots_about', 'histories', 'inclusion'],
    ...['consistency', 'tiles', 'notes', 'cosignatures', 'policy', 'add_checkpoint', 'tlog_proof', 'must_refuse_notes', 'faults'],
  ]);
  assert.deepEqual(Object.keys(vectors.tiles), ['about', 'by_size', 'paths']);
  assert.deepEqual(Object.keys(vectors.faults), ['conflicting_tlog', 'false_tlog_history', 'false_tlog_root', 'demand_of_entry_answers', 'alarm_without_our_line']);
  const counts = [vectors.origins.cases, vectors.headers, vectors.notes, vectors.chosen, vectors.must_refuse_notes.cases, vectors.tlog_proof.must_refuse];
  assert.deepEqual(counts.map(({ length }) => length), [41, 10, 4, 10, 49, 12]);
  assert.equal(vectors.c2sp, '5ba5ee8');
});

test('domain, types and keys', async () => {
  assert.equal(p.separator(domain), vectors.domain_separator);
  assert.equal(sha256(stringToHex('')), vectors.roots[0]);
  for (const [type, hash] of [['TlogCheckpoint', 'typehash'], ['Batch', 'batch_typehash']]) {
    const spelled = `${type}(${p.TYPES[type].map((member) => `${member.type} ${member.name}`).join(',')})`;
    assert.equal(keccak256(stringToHex(spelled)), vectors.type[hash]);
    assert.equal(vectors.type[type], spelled);
  }
  assert.equal(vectors.type.batch_typehash, tlog.BATCH_TYPEHASH);
  for (const { private: secret, address, line_key_id: id, vkey } of vectors.sequencer_keys) {
    assert.equal(privateKeyToAccount(secret).address, address);
    assert.equal(notes.ourId(vectors.origin, address), id);
    assert.equal(notes.ourKey(vectors.origin, address), vkey);
  }
  assert.equal(privateKeyToAccount(vectors.delegate.private).address, vectors.delegate.address);
  for (const { vkey, key_id: id, name, public: key } of [...Object.values(vectors.tlog_keys), ...Object.values(vectors.witness_keys)]) {
    const read = notes.verifierKey(vkey);
    assert.equal(read.name, name ?? vectors.origin);
    if (id !== undefined) assert.equal(read.id, id);
    if (key !== undefined) assert.equal(read.key, key);
  }
  const [key] = known;
  const short = `0x${'00'.repeat(31)}`;
  refuses(() => notes.verifierKey(madeKey('a', '0x01', short)), 'a key of 31 bytes');
  refuses(() => notes.verifierKey(madeKey('a', '0x02', `${short}00`)), 'another type');
  refuses(() => notes.verifierKey(notes.ourKey('a', sequencer[0].key)), 'the sequencer\'s own');
  notes.verifierKey(madeKey('a', '0x01', `${short}00`));
  for (const bad of [key.slice(1), key.replace('+b6', '+B6'), `${key}=`, key.replace('+AW', '+BW'), key.slice(0, -4), 'a+b6f7f4b6+', `a b${key}`]) {
    refuses(() => notes.verifierKey(bad), bad);
  }
});

test('origins of public URLs', () => {
  const counts = { some: 0, none: 0 };
  for (const { public_url: url, origin, host } of vectors.origins.cases) {
    assert.equal(tlog.originOf(url, domain), origin, url);
    counts[origin === null ? 'none' : 'some'] += 1;
    if (origin === null) continue;
    assert.equal(origin, `${host}${vectors.origins.suffix}`);
    tlog.checkOrigin(origin, domain);
  }
  assert.deepEqual(counts, { some: 24, none: 17 });
  assert.equal(vectors.origin, vectors.origins.cases[0].origin);
  const { suffix } = vectors.origins;
  for (const bad of ['', 'log.example', `Log.example${suffix}`, `b\u00fccher${suffix}`, `a@b${suffix}`, suffix, `a/b${suffix}`, `a+b${suffix}`, `a b${suffix}`, `a\u3000${suffix}`, `${'a'.repeat(256 - suffix.length)}${suffix}`, `a${suffix}/`, `a${suffix.toUpperCase()}`]) {
    refuses(() => tlog.checkOrigin(bad, domain), bad);
  }
  tlog.checkOrigin(`${'a'.repeat(255 - suffix.length)}${suffix}`, domain);
});

test('entries, leaves, roots and histories', () => {
  for (const { message, batch_hash: hash, entry, leaf } of [...vectors.headers, vectors.last_of_300]) {
    assert.equal(p.structHash('Batch', message), hash);
    assert.deepEqual(log.messages[message.number], message);
    const made = log.entries[message.number];
    if (entry !== undefined) assert.equal(made, entry);
    assert.equal(keccak256(made), hash);
    assert.equal(tlog.leafOf(made), leaf);
    const numbers = ['number', 'firstSequence', 'count', 'sealedAt'].map((name) => [name, BigInt(message[name])]);
    assert.deepEqual(tlog.headerOfEntry(made), { ...message, ...Object.fromEntries(numbers) });
  }
  assert.deepEqual(Object.keys(vectors.roots), Object.keys(vectors.histories));
  assert.equal(Object.keys(vectors.roots).length, 15);
  for (const [size, root] of Object.entries(vectors.roots)) assert.equal(rootAt(size), root, `root of ${size}`);
  for (const [size, history] of Object.entries(vectors.histories)) assert.equal(historyAt(size), history, `history of ${size}`);
  const [entry] = log.entries;
  const edited = (at, digits) => `${entry.slice(0, at)}${digits}${entry.slice(at + digits.length)}`;
  for (const bad of ['0x', `${entry}00`, entry.slice(0, -2), edited(2, '00'), edited(2 + 64, '01'), edited(2 + 3 * 64 + 54, '01'), edited(2 + 9 * 64, '01')]) {
    refuses(() => tlog.headerOfEntry(bad), bad);
  }
});

test('inclusion and consistency', () => {
  assert.deepEqual([vectors.inclusion.length, vectors.consistency.length], [13, 9]);
  for (const { size, index, path } of vectors.inclusion) {
    const check = (at, way) => tlog.checkInclusion(rootAt(size), size, [at], [leaves[index]], way);
    check(index, path);
    refuses(() => check(index, [...path, path[0] ?? p.ZERO]), 'too long');
    refuses(() => check(index + size, path), 'beyond the end');
    if (size > 1) refuses(() => check(index === 0 ? 1 : index - 1, path), 'a neighbour');
    if (path.length > 0) refuses(() => check(index, path.slice(1)), 'too short');
    if (path.length > 0) refuses(() => check(index, [p.ZERO, ...path.slice(1)]), 'another hash');
  }
  for (const { from, to, proof } of vectors.consistency) {
    const check = (way, first = rootAt(from)) => tlog.checkConsistency(from, to, first, rootAt(to), way);
    check(proof);
    refuses(() => check([...proof, p.ZERO]), 'too long');
    refuses(() => check(proof, p.ZERO), 'another root');
    if (proof.length > 0) refuses(() => check(proof.slice(0, -1)), 'too short');
  }
  refuses(() => tlog.checkConsistency(0, 10, rootAt(0), rootAt(10), []), 'nothing');
});

test('tiles, bundles and their paths', () => {
  let files = 0;
  for (const [size, expected] of Object.entries(vectors.tiles.by_size)) {
    const made = tlog.tilesOf(log.entries.slice(0, Number(size)));
    assert.deepEqual([...made.keys()].sort(), Object.keys(expected).sort());
    for (const [path, { bytes, sha256: hash, hex }] of Object.entries(expected)) {
      const file = made.get(path);
      assert.equal((file.length - 2) / 2, bytes, path);
      assert.equal(sha256(file), hash, path);
      if (hex !== undefined) assert.equal(file, hex, path);
      const { level, n, width } = tlog.servedTile(path, BigInt(size));
      const start = Number(n) * 256;
      if (level === 'entries') assert.deepEqual(tlog.entriesOf(file, width), log.entries.slice(start, start + Number(width)));
      files += 1;
    }
  }
  assert.deepEqual([Object.keys(vectors.tiles.by_size), files], [['1', '10', '255', '256', '257', '300'], 19]);
  const { names, not_found: lost, found } = vectors.tiles.paths;
  assert.deepEqual([names.length, lost.paths.length, found.paths.length], [9, 28, 8]);
  for (const { level, n, width, path } of names) {
    const place = level === 'entries' ? level : BigInt(level);
    assert.equal(tlog.tilePath(place, BigInt(n), BigInt(width)), path);
    assert.deepEqual(tlog.servedTile(path, 2n ** 600n), { level: place, n: BigInt(n), width: BigInt(width) });
  }
  for (const path of lost.paths) refuses(() => tlog.servedTile(path, 300n), path);
  refuses(() => tlog.servedTile('tile/0/000.p/257', 300n), 'a partial tile that is too wide');
  refuses(() => tlog.servedTile('tile/64/000', 2n ** 600n), 'a level above 63');
  for (const path of found.paths) tlog.servedTile(path, 300n);
  const bundle = tlog.tilesOf(log.entries.slice(0, 2)).get('tile/entries/000.p/2');
  for (const bad of [`${bundle}00`, bundle.slice(0, -2), '0x', '0x01']) refuses(() => tlog.entriesOf(bad, 2n), bad.slice(-20));
});

test('notes: the three kinds of lines', async () => {
  for (const { batches, text, tlog_checkpoint: signed, mldsa_cosigned_message: message, lines, note_sha256: hash } of vectors.notes) {
    const note = wholeNote({ text, lines });
    assert.equal(sha256(stringToHex(note)), hash);
    assert.equal(p.structHash('TlogCheckpoint', signed.message), signed.struct_hash);
    const digest = p.digestOf(domain, 'TlogCheckpoint', signed.message);
    assert.equal(digest, signed.digest);
    const signer = vectors.sequencer_keys.find(({ name }) => name === signed.by);
    assert.equal(await privateKeyToAccount(signer.private).sign({ hash: digest }), signed.signature);
    const read = await notes.verifyNote(note, trust);
    assert.deepEqual(read.verified.map(({ type, time }) => [type, time]), [['01', null], ['06', 0n]]);
    assert.equal(read.text, text);
    assert.deepEqual([Number(read.batches), read.root, read.history, read.signature], [batches, signed.message.root, signed.message.history, signed.signature]);
    assert.equal(notes.cosignedMessage(read, read.origin, 0n), message);
    const { ed25519, mldsa } = vectors.tlog_keys;
    assert.equal(madeLine(read.origin, ed25519.key_id, signEd25519(ed25519.seed, text)), lines.ed25519);
    assert.equal(signMldsa(mldsa, read, 0n), lines.mldsa);
    notes.checkAgainstLog(read, rootAt, historyAt);
    assert.deepEqual(await notes.verifyNote(Buffer.from(note), trust), read);
  }
});

test('notes that are refused', async () => {
  const counts = { note: 0, log: 0 };
  for (const bad of vectors.must_refuse_notes.cases) {
    counts[bad.by] += 1;
    const verdict = notes.verifyNote(bytesOf(bad), trust);
    if (bad.by === 'note') await refusedBy(verdict, bad);
    else {
      const note = await verdict;
      refuses(() => notes.checkAgainstLog(note, rootAt, historyAt), bad.why);
    }
  }
  assert.deepEqual(counts, { note: 47, log: 2 });
  const { notes: [honest, fork] } = vectors.faults.alarm_without_our_line;
  assert.equal((await notes.verifyNote(honest, trust)).batches, 10n);
  await refusesLater(notes.verifyNote(fork, trust), 'a fork without our line');
});

test('notes that the vectors leave out', async () => {
  const { text, lines } = noteOf(10);
  const of = (...list) => `${text}\n${list.map((line) => `${line}\n`).join('')}`;
  const { origin } = vectors;
  const unknown = '— other.example AAAAAAA=';
  await notes.verifyNote(of(lines.ours.replace(origin, 'other.example'), lines.ours), trust);
  await notes.verifyNote(of(lines.ours), trust);
  await notes.verifyNote(of(unknown, lines.ours, '— a\u00e9\u{1f600} AAAAAAA='), trust);
  // A known key's line may stand there twice, but each has to hold.
  assert.equal((await notes.verifyNote(of(lines.ed25519, lines.ours, lines.ed25519), trust)).verified.length, 2);
  const spoiled = `${lines.ed25519.slice(0, -3)}AA=`;
  const mldsa = `${lines.mldsa.slice(0, 100)}AAAA${lines.mldsa.slice(104)}`;
  const witness = vectors.witness_keys.w1_0x04;
  const bad = {
    'no signatures': `${text}\n`,
    'a second Ed25519 line that fails': of(lines.ed25519, lines.ours, spoiled),
    'an ML-DSA line that fails': of(mldsa, lines.ours),
    'an ML-DSA line that is too short': of(`${lines.mldsa.slice(0, -4)}`, lines.ours),
    'the log\'s own ML-DSA line with a time': of(lines.ours, signMldsa(vectors.tlog_keys.mldsa, await notes.verifyNote(of(lines.ours), trust), 1n)),
    'a time above 2^63 - 1': of(lines.ours, cosignEd25519(witness, text, 2n ** 63n)),
    'the line of the sequencer\'s key under another name': of(lines.ours.replace(origin, 'other.example')),
    'a line of four bytes': of(lines.ours, '— other.example AAAAAA=='),
    'surplus bits in base64': of(lines.ours, '— other.example AAAAAAB='),
    'padding in the middle': of(lines.ours, '— other.example AAAA=AAA'),
    'a name with a plus': of(lines.ours, '— a+b AAAAAAA='),
    'a name with a next line character': of(lines.ours, '— a\u0085b AAAAAAA='),
    'an empty line after the signatures': `${of(lines.ours)}\n`,
    'an empty line among the signatures': of(lines.ours, '', unknown),
    'a byte order mark': `\ufeff${of(lines.ours)}`,
    'half a character': of(lines.ours, '— a\ud800 AAAAAAA='),
    'too many lines': of(lines.ours, ...Array(100).fill(unknown)),
    'too long': of(lines.ours, `— other.example ${'AAAA'.repeat(250_000)}`),
    'a size of 2^64': of(lines.ours).replace('\n10\n', '\n18446744073709551616\n'),
    'a root with surplus bits': of(lines.ours).replace('Slw=', 'Slx='),
    'no text': `\n${lines.ours}\n`,
  };
  for (const [why, note] of Object.entries(bad)) await refusesLater(notes.verifyNote(note, trust), why);
  await assert.rejects(notes.verifyNote(bad['no signatures'], trust), /^Error: no signature lines/);
  await refusesLater(notes.verifyNote(Buffer.from(`\ufeff${of(lines.ours)}`), trust), 'a byte order mark in bytes');
  await notes.verifyNote(of(lines.ours, ...Array(99).fill(unknown)), trust);
  const room = 512 * 1024 - of(lines.ours, '—  AAAAAAA=').length - 4;
  await notes.verifyNote(of(lines.ours, `— ${'a'.repeat(room)} AAAAAAA=`), trust);
  await refusesLater(notes.verifyNote(of(lines.ours, `— ${'a'.repeat(room + 1)} AAAAAAA=`), trust), 'a byte too long');
  const long = madeKey('a'.repeat(256), '0x06', `0x${'00'.repeat(1312)}`);
  const line = madeLine('a'.repeat(256), notes.verifierKey(long).id, `0x${'00'.repeat(8 + 2420)}`);
  await refusesLater(notes.verifyNote(of(lines.ours, line), { ...trust, known: [long] }), 'a name that no cosigned message can hold');
  const later = { ...trust, sequencer: [{ key: sequencer[1].key, from_batch: 7 }] };
  await refusesLater(notes.verifyNote(wholeNote(noteOf(7)), later), 'no key of batch 6 is known');
  await refusesLater(notes.verifyNote(of(lines.ours), { ...trust, domain: { ...domain, chainId: 1n } }), 'another domain');
  const last = await notes.verifyNote(of(lines.ours, cosignEd25519(witness, text, 2n ** 63n - 1n)), trust);
  assert.equal(last.verified[0].time, 2n ** 63n - 1n);
});

test('cosignatures and policies', async () => {
  const { timestamps, about, ...lines } = vectors.cosignatures;
  assert.equal(about, 'of the note of 10 batches');
  assert.deepEqual(Object.keys(lines), ['w1_0x04', 'w2_0x04', 'w1_0x06']);
  const witnessed = (names) => notes.verifyNote(`${wholeNote(noteOf(10))}${names.map((name) => `${lines[name]}\n`).join('')}`, trust);
  for (const name of Object.keys(lines)) {
    const { verified } = await witnessed([name]);
    const key = vectors.witness_keys[name];
    const time = BigInt(timestamps[name]);
    const made = name.endsWith('4') ? cosignEd25519(key, noteOf(10).text, time) : signMldsa(key, await witnessed([]), time);
    assert.equal(made, lines[name]);
    assert.deepEqual(verified.slice(2).map((line) => [line.name, line.id, line.time]), [[key.name, notes.verifierKey(key.vkey).id, time]]);
    const other = `${wholeNote(noteOf(8))}${lines[name]}\n`;
    await refusesLater(notes.verifyNote(other, trust), 'a cosignature of another note');
  }
  const { tlog_policy: file, enough, not_enough: few } = vectors.policy;
  const policy = notes.readPolicy(file);
  assert.deepEqual([enough.length, few.length], [3, 4]);
  for (const names of enough) notes.checkPolicy(policy, await witnessed(names));
  for (const names of few) {
    const note = await witnessed(names);
    refuses(() => notes.checkPolicy(policy, note), names.join());
  }
  const none = await witnessed([]);
  notes.checkPolicy(notes.readPolicy('\t# none\n\n quorum \t none '), none);
  const all = await witnessed(enough[0]);
  const foreign = notes.readPolicy(file.replace(known[0], madeKey('other.example', '0x01', notes.verifierKey(known[0]).key)));
  refuses(() => notes.checkPolicy(foreign, all), 'a log that the policy does not list');
  const [w1, w2, pq] = ['w1_0x04', 'w2_0x04', 'w1_0x06'].map((name) => vectors.witness_keys[name].vkey);
  const two = await witnessed(['w1_0x04', 'w1_0x06']);
  const nested = notes.readPolicy(`witness a ${w1}\nwitness b ${w2}\ngroup one any a b\ngroup all 1 one b\nquorum all\n`);
  notes.checkPolicy(nested, two);
  refuses(() => notes.checkPolicy(nested, none));
  const bad = [
    ...['', 'quorum w1', 'quorum none\nquorum none', 'quorum', 'group a any none\nquorum a', 'other', 'toString a', 'quorum none x', '# a\rb\nquorum none', `witness none ${w1}\nquorum none`],
    ...['2', '0', '01', 'some', '-1'].map((least) => `witness a ${w1}\ngroup b ${least} a\nquorum b`),
    ...[`a ${w1}`, `b ${w1}`, `b ${pq}`].map((second) => `witness a ${w1}\nwitness ${second}\nquorum none`),
    ...[`witness a ${w1}\ngroup b any a a\nquorum b`, `group b any a\nwitness a ${w1}\nquorum b`, `log ${w1}\nquorum none`, `witness a ${w1}\nwitness b ${madeKey('b', '0x04', notes.verifierKey(w1).key)}\nquorum none`, `witness a ${known[0]}\nquorum none`],
  ];
  for (const text of bad) refuses(() => notes.readPolicy(text), text);
});

test('add-checkpoint: bodies and answers', async () => {
  const { body, answer } = vectors.add_checkpoint;
  const read = await notes.readAddCheckpoint(body, trust);
  assert.deepEqual([read.from, read.note.batches, read.proof], [7n, 10n, vectors.consistency.find(({ from, to }) => from === 7 && to === 10).proof]);
  notes.checkExtension(read, rootAt(7));
  refuses(() => notes.checkExtension(read, rootAt(8)), 'another old root');
  const witnessed = `${wholeNote(noteOf(10))}${answer}`;
  assert.equal(notes.addCheckpointBody(7n, read.proof, witnessed), body);
  const own = read.note.lines.filter(({ name }) => name === vectors.origin);
  assert.equal(own.length, read.note.lines.length);
  const { verified } = await notes.verifyNote(witnessed, trust);
  assert.deepEqual(verified.slice(2).map(({ name, time }) => [name, time]), [['witness.example/w1', 1790000400n]]);
  const first = await notes.readAddCheckpoint(notes.addCheckpointBody(0n, [], wholeNote(noteOf(1))), trust);
  notes.checkExtension(first, rootAt(0));
  refuses(() => notes.checkExtension({ ...first, proof: [p.ZERO] }, rootAt(0)), 'a proof from nothing');
  const [line] = body.split('\n').slice(1);
  const bad = ['', body.replace('old 7', 'old 07'), body.replace('old 7', 'old 11'), body.replace('old 7', 'old -7'), body.replace('old 7', 'Old 7'), body.replace('\n\n', '\n')];
  bad.push(body.replace(line, `${line}=`), body.replace(line, line.slice(4)), body.replace(line, Array(60).fill(line).join('\n')), body.slice(body.indexOf('\n') + 1));
  for (const text of bad) await refusesLater(notes.readAddCheckpoint(text, trust), text.slice(0, 100));
});

test('.tlog-proof files', async () => {
  const policy = notes.readPolicy(vectors.policy.tlog_policy);
  const { file, must_refuse: refused } = vectors.tlog_proof;
  const shown = await notes.verifyTlogProof(file, trust, policy);
  assert.deepEqual([shown.index, shown.entry, shown.note.batches], [3n, vectors.headers[3].entry, 10n]);
  for (const bad of refused) await refusedBy(notes.verifyTlogProof(bad.proof, trust, policy), bad);
  const lines = file.split('\n');
  const cosigned = lines.slice(0, -2).join('\n');
  await notes.verifyTlogProof(`${cosigned}\n`, trust);
  const edits = [
    ['too few witnesses', `${cosigned}\n`],
    ['an empty line before the path', file.replace('index 3\n', 'index 3\n\n')],
    ['extra twice', file.replace('index 3', `${lines[1]}\nindex 3`)],
    ['index twice', file.replace('index 3', 'index 3\nindex 3')],
    ['extra that is not base64', file.replace('extra Vi', 'extra  Vi')],
    ['a hash without padding', file.replace(lines[3], lines[3].slice(0, -1))],
    ['nothing', ''],
    ['no note', `${lines.slice(0, 7).join('\n')}\n\n`],
  ];
  // A log whose root holds header 4 in the place of header 3, as the vectors of false tlog root have it.
  const { t, entry, entry_path: path } = vectors.faults.false_tlog_root.good.find(({ why }) => why === 'another header in its place');
  const ours = madeLine(vectors.origin, vectors.sequencer_keys[1].line_key_id, t.history, t.signature);
  const note = `${vectors.origin}\n10\n${base64(t.root)}\n\n${ours}\n`;
  await notes.verifyNote(note, trust);
  const other = [lines[0], `extra ${base64(entry)}`, 'index 3', ...path.map((word) => base64(word)), '', note].join('\n');
  await assert.rejects(notes.verifyTlogProof(other, trust), /the header is of another batch/);
  for (const [why, text] of edits) await refusesLater(notes.verifyTlogProof(text, trust, policy), why);
});

const entryOfCase = (entry) => (typeof entry === 'string' ? entry : `0x${'00'.repeat(entry.zero_bytes)}`);
const evidenceOf = ({ why: _, refused_by: __, ...evidence }) => (evidence.entry === undefined ? evidence : { ...evidence, entry: entryOfCase(evidence.entry) });

test('faults: every verdict of the table is reached', async () => {
  const counts = {};
  for (const fault of ['conflicting_tlog', 'false_tlog_history', 'false_tlog_root']) {
    const { good, must_refuse: refused } = vectors.faults[fault];
    for (const evidence of good) assert.equal(await verifyTlogFault(fault, evidenceOf(evidence), trust), fault, evidence.why);
    for (const evidence of refused) await refusedBy(verifyTlogFault(fault, evidenceOf(evidence), trust), evidence);
    counts[fault] = [good.length, refused.length];
  }
  const { good, must_refuse: refused } = vectors.faults.demand_of_entry_answers;
  for (const answer of good) await checkEntryAnswer(evidenceOf(answer), trust);
  for (const answer of refused) await refusedBy(checkEntryAnswer(evidenceOf(answer), trust), answer);
  counts.answers = [good.length, refused.length];
  assert.deepEqual(counts, { conflicting_tlog: [4, 8], false_tlog_history: [5, 12], false_tlog_root: [10, 16], answers: [3, 8] });
});

test('faults: evidence of another form is refused', async () => {
  const conflict = evidenceOf(vectors.faults.conflicting_tlog.good[0]);
  const { a, b } = conflict;
  const root = evidenceOf(vectors.faults.false_tlog_root.good[0]);
  const flipped = (signature, v) => `${signature.slice(0, -2)}${v}`;
  const bad = [
    ['toString', conflict],
    ['conflicting_tlog', { a }],
    ['conflicting_tlog', { a, b, c: b }],
    ['conflicting_tlog', { a, b: { ...b, batches: -1 } }],
    ['conflicting_tlog', { a, b: { ...b, batches: 2n ** 64n } }],
    ['conflicting_tlog', { a, b: { ...b, signature: flipped(b.signature, '00') } }],
    ['conflicting_tlog', { a, b: { ...b, signature: flipped(b.signature, '1d') } }],
    ['conflicting_tlog', { a, b: { ...b, signature: `${b.signature}00` } }],
    ['conflicting_tlog', { a, b: { ...b, signature: `0x${'00'.repeat(64)}1b` } }],
    ['false_tlog_root', { ...root, entry: `${root.entry}0` }],
    ['false_tlog_root', { ...root, index: 3.5 }],
    ['false_tlog_root', { ...root, held_path: Array(66).fill(p.ZERO) }],
  ];
  for (const [fault, evidence] of bad) await refusesLater(verifyTlogFault(fault, evidence, trust), fault);
  // Two spellings of one root are no conflict.
  await refusesLater(verifyTlogFault('conflicting_tlog', { a, b: { ...a, root: `0x${a.root.slice(2).toUpperCase()}` } }, trust));
  const [answer] = vectors.faults.demand_of_entry_answers.good.map(evidenceOf);
  await refusesLater(checkEntryAnswer({ ...answer, header: { ...answer.header, extra: 1 } }, trust));
});
