// The checks without a browser: the table of files that all verifiers share, and the bound on a check's time.

import { readFileSync } from 'node:fs';
import { domainOf } from '@kedge/sdk';
import { afterEach, expect, test, vi } from 'vitest';
import { ask } from '../src/check/asking';
import { type Kind, recognise } from '../src/check/kinds';
import { type Question, type Report, check } from '../src/check/work';
import { filterOf } from '../src/searching';

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
