// The checks without a browser: the table of files that all verifiers share, and the bound on a check's time.

import { readFileSync } from 'node:fs';
import { domainOf, writeJson } from '@kedge/sdk';
import { decodeEntry } from '@kedge/sdk/verify';
import { concat, keccak256, stringToHex, toRlp } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterEach, expect, test, vi } from 'vitest';
import { ask } from '../src/check/asking';
import { type Kind, recognise } from '../src/check/kinds';
import { type Question, type Report, check } from '../src/check/work';
import { filterOf } from '../src/searching';
import { checkpointHash, digestOf } from '../../../sdk/typescript/dist/protocol/domain.js';

const repository = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, repository), 'utf8');
const [first = '', , ...lines] = read('crates/protocol/vectors/files.json').split('\n');
const state = JSON.parse(`${first.replace(/,$/, '')}}`);
const trust = { domain: domainOf(BigInt(state.domain.chain_id), state.domain.verifying_contract), sequencer: state.sequencer };
const key = JSON.parse(read('crates/prover/keys/dev-insecure.json'));

interface Case {
  name: string;
  kind: Kind;
  valid: boolean;
  contents: `0x${string}`[];
  text: string;
}

const cases: Case[] = lines.slice(0, -2).map((line) => {
  const whole = line.replace(/,$/, '');
  const entry = JSON.parse(whole);
  return { ...entry, text: entry.text ?? whole.slice(whole.indexOf('"file":') + 7, -1) };
});

async function reportsOf(question: Question): Promise<Report[]> {
  const reports: Report[] = [];
  await check(question, (report) => reports.push(report));
  return reports;
}

// Holds invariant 172.
test('every file of the shared table has its verdict', async () => {
  expect(cases.length).toBeGreaterThan(200);
  for (const { name, valid, text, contents } of cases) {
    const last = (await reportsOf({ text, contents, trust, key })).at(-1) as Report;
    expect('shown' in last, `${name}: ${JSON.stringify(last, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`).toBe(valid);
    if ('shown' in last) expect(last.shown.summary).not.toBe('');
  }
});

// Holds invariant 172.
test('a file of several spellings is checked as it is spelled, not as the page reads it', async () => {
  const twice = cases.find(({ kind, name }) => kind === 'receipt' && /a number twice$/.test(name)) as Case;
  expect(recognise(twice.text)).toEqual({ kind: 'receipt', text: twice.text });
  const { text } = cases.find(({ kind, valid }) => kind === 'receipt' && valid) as Case;
  // An answer of the service holds its receipt; numbers above 2^53 are kept.
  const answer = recognise(`{"id":"act_1","price":1.5,"serial":9007199254740993,"receipt":${text}}`);
  expect(answer.kind).toBe('receipt');
  expect(JSON.parse(answer.text)).toEqual(JSON.parse(text));
  expect(() => recognise(`{"id":"act_1","receipt":{},"receipt":${text}}`)).toThrow(/"receipt" occurs twice/);
  expect(() => recognise(`{"id":"act_1","receipt":${text.replace('{', '{"version":1,')}}`)).toThrow(/"version" occurs twice/);
});

/** An object as the service shows it with its state proof, as text, and what its readers trust. */
async function provenObject(): Promise<{ text: string; trust: Question['trust'] }> {
  const account = privateKeyToAccount(`0x${'01'.repeat(32)}`);
  const idOf = (prefix: string, digit: string): string => `${prefix}_${digit.repeat(26)}`;
  const [id, properties, zero] = [idOf('obj', '5'), '{"price":12.50}', `0x${'00'.repeat(32)}`] as const;
  const hashed = keccak256(stringToHex(properties));
  const ids = [idOf('org', '1'), idOf('tpl', '3')].map((one) => stringToHex(one));
  const entry = toRlp(['0x01', '0x01', '0x07', hashed, ...ids, '0x', '0x01', stringToHex(idOf('wal', '2')), `0x${'0a'.repeat(20)}`, '0x', hashed]);
  const leaf = toRlp([concat(['0x20', keccak256(stringToHex(id))]), keccak256(entry)]);
  const { type: _, ...fields } = decodeEntry(id, Buffer.from(entry.slice(2), 'hex'), 9n);
  const checkpoint = { batches: 3n, sequence: 9n, head: zero, history: zero, state: keccak256(leaf), issued_at_ms: 1n };
  const signature = await account.sign({ hash: digestOf(trust.domain, checkpointHash(checkpoint)) });
  const proof = { key: id, present: true, entry, fields, texts: { properties }, nodes: [leaf], checkpoint: { checkpoint, signature }, anchor: null };
  const { integrity, properties_hash: __, ...members } = fields as typeof fields & { properties_hash: string };
  const text = writeJson({ id, ...members, integrity_hash: integrity, properties: 'STATED', state_proof: proof }).replace('"STATED"', properties);
  return { text, trust: { ...trust, sequencer: account.address } };
}

// Holds invariant 271.
test('an answer with a state proof is checked as it is spelled', async () => {
  const { text, trust: signer } = await provenObject();
  const last = async (answer: string): Promise<Report | undefined> => (await reportsOf({ text: answer, contents: [], trust: signer, key: null })).at(-1);
  expect(await last(text)).toHaveProperty('shown');
  expect(await last(text.replace('"status"', '"status":"burned","status"'))).toEqual({ refused: expect.stringMatching(/"status" occurs twice/) });
  expect(await last(text.replace('"present"', '"present":false,"present"'))).toEqual({ refused: expect.stringMatching(/"present" occurs twice/) });
  const quoted = text.replace(/"state_proof":(.*)}$/, (_, proof: string) => `"state_proof":${JSON.stringify(proof)}}`);
  expect(await last(quoted)).toEqual({ refused: expect.stringMatching(/is no object/) });
  expect(await last(text.replace('"price":12.50}', '"price":12.5}'))).toEqual({ refused: expect.stringMatching(/^properties of obj_5+ differs/) });
});

test('what a claim or a receipt needs besides the file is asked for', async () => {
  const refusal = async (kind: Kind, question: Partial<Question>): Promise<unknown> => {
    const { text } = cases.find((one) => one.kind === kind && one.valid) as Case;
    return (await reportsOf({ text, contents: [], trust, key: null, ...question })).at(-1);
  };
  expect(await refusal('claim', {})).toEqual({ refused: expect.stringMatching(/give its file/) });
  expect(await refusal('receipts', {})).toEqual({ refused: expect.stringMatching(/give those that you computed/) });
});

test('a search becomes the filter that the service reads', () => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ property: 'seat.row', op: 'gte', value: '12', status: 'active' })) form.set(name, value);
  const status = { field: 'status', op: 'eq', value: 'active' };
  expect(filterOf(form)).toEqual({ and: [status, { field: 'properties.seat.row', op: 'gte', value: 12 }] });
  const valueOf = (text: string): unknown => {
    form.set('value', text);
    return (filterOf(form) as { and: { value: unknown }[] }).and[1]?.value;
  };
  expect(['true', '"7"', 'D', '9007199254740993', '{"a":1}'].map(valueOf)).toEqual([true, '7', 'D', 9007199254740993n, '{"a":1}']);
  expect(filterOf(new FormData())).toBeNull();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A worker that does what the test has it do. */
class Idle {
  static last: Idle;
  onmessage: (event: { data: Report }) => void = () => {};
  onerror: (event: { message: string }) => void = () => {};
  isEnded = false;

  constructor() {
    Idle.last = this;
  }

  postMessage(): void {}

  terminate(): void {
    this.isEnded = true;
  }
}

// Holds invariant 172.
test('a check that takes too long is ended, and said to be', () => {
  vi.useFakeTimers();
  vi.stubGlobal('Worker', Idle);
  const question = { text: '', contents: [], trust, key: null };
  const reports: Report[] = [];
  ask(question, (report) => reports.push(report));
  Idle.last.onmessage({ data: { kind: 'proof' } });
  vi.advanceTimersByTime(29_000);
  expect(Idle.last.isEnded).toBe(false);
  vi.advanceTimersByTime(2_000);
  expect(Idle.last.isEnded).toBe(true);
  expect(reports.at(-1)).toEqual({ refused: expect.stringMatching(/more than 30 s/) });

  // The check of a whole log may take minutes.
  ask(question, (report) => reports.push(report));
  Idle.last.onmessage({ data: { kind: 'export' } });
  vi.advanceTimersByTime(60_000);
  expect(Idle.last.isEnded).toBe(false);
  Idle.last.onerror({ message: 'gone' });
  expect([Idle.last.isEnded, reports.at(-1)]).toEqual([true, { refused: 'The check failed: gone.' }]);
});
