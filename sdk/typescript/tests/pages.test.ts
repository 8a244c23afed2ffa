// Lists, page by page: what a page says of the next one holds, or the list ends with an error.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KedgeClient, Refused, generateKey } from '@kedge/sdk';
import { CompatClient } from '@kedge/sdk/compat';
import { trust } from './state-answers.js';

type Following = Readonly<Record<string, readonly [boolean, string | null]>>;

/** The `fetch` of a server whose pages have one item each, and state what follows by the cursor of the request. */
const serverOf = (following: Following) => async (url: string, init: RequestInit): Promise<Response> => {
  const asked = typeof init.body === 'string' ? (JSON.parse(init.body) as { cursor?: string }).cursor : new URL(url).searchParams.get('cursor');
  const [more, cursor] = following[asked ?? ''] as [boolean, string | null];
  return new Response(JSON.stringify({ items: [{ id: asked ?? 'first' }], has_more: more, cursor }), { status: 200 });
};

/** The ids of lists that are read with parameters, and of one that is read with a body. */
async function idsOf(following: Following, begin: { cursor?: string } = {}): Promise<string[][]> {
  const client = new KedgeClient({ baseUrl: 'http://stand-in', trust, fetch: serverOf(following) });
  const filter = { field: 'status', op: 'eq', value: 'active' } as const;
  const lists = [client.listObjects(begin), client.searchObjects({ filter, ...begin })];
  const read = await Promise.allSettled(lists.map((list) => list.take(9)));
  const refused = read.filter((one) => one.status === 'rejected').map(({ reason }) => reason as unknown);
  assert.ok(refused.length === 0 || refused.length === lists.length, 'all lists are read alike');
  if (refused.length > 0) throw refused[0];
  return read.map((one) => (one as PromiseFulfilledResult<{ id: string }[]>).value.map(({ id }) => id));
}

test('a list ends where no more follows', async () => {
  const following: Following = { '': [true, 'a'], a: [true, 'b'], b: [false, null] };
  assert.deepEqual(await idsOf(following), Array(2).fill(['first', 'a', 'b']));
  assert.deepEqual(await idsOf(following, { cursor: 'b' }), Array(2).fill(['b']));
});

test('a list that has more and names no cursor is refused', async () => {
  const missing = /cursor of the next page is missing/;
  await assert.rejects(idsOf({ '': [true, 'a'], a: [true, null] }), missing);
  const fetch = serverOf({ '': [true, null] });
  await assert.rejects(new KedgeClient({ baseUrl: 'http://stand-in', trust, fetch }).listTemplates().then(), missing);
  const compat = new CompatClient({ baseUrl: 'http://stand-in', token: 'token', authMode: 'api_key', signer: generateKey(), fetch });
  await assert.rejects(compat.objects.list({ limit: 1 }));
});

test('a list whose cursors repeat is refused', async () => {
  const again = (error: unknown): boolean => error instanceof Refused && /earlier page occurs again/.test(error.message);
  await assert.rejects(idsOf({ '': [true, 'a'], a: [true, 'a'] }), again);
  await assert.rejects(idsOf({ '': [true, 'a'], a: [true, 'b'], b: [true, 'c'], c: [true, 'a'] }), again);
  await assert.rejects(idsOf({ a: [true, 'a'] }, { cursor: 'a' }), again);
});
