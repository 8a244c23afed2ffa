// The stream of events: nothing is missed and nothing comes twice, however the server ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KedgeClient, Schemas } from '@kedge/sdk';
import { keepAliveFetch } from '@kedge/sdk/node';
import { eventually, registered, serverOfFile } from './setup.js';

const server = serverOfFile();

interface Seen {
  readonly events: Schemas['EventView'][];
  readonly end: AbortController;
  readonly ended: Promise<unknown>;
}

/** Follows a stream in the background. */
function follow(client: KedgeClient, query: Parameters<KedgeClient['streamEvents']>[0], lastEventId?: string): Seen {
  const events: Schemas['EventView'][] = [];
  const end = new AbortController();
  const ended = (async () => {
    for await (const event of client.streamEvents(query, { signal: end.signal, ...(lastEventId === undefined ? {} : { lastEventId }) })) events.push(event);
  })().catch((error: unknown) => error);
  return { events, end, ended };
}

for (const [name, options] of [['the built-in fetch', {}], ['the keep-alive fetch', { fetch: keepAliveFetch() }]] as const) {
  test(`a stream survives ends of the server, with ${name}`, async () => {
    const ann = await registered(server.baseUrl, options);
    const { id } = await ann.createTemplate({ name: 'ticket' });
    const [minted] = await ann.batch().mint(id).send();
    const object = minted?.objectId as string;
    const seen = follow(ann, { after_sequence: 0 });
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await ann.batch().emit(object, { n: 1 }).unlock(object).emit(object, { n: 2 }).send();
      // What is committed while the client is away is what it must not miss.
      await server.restart(signal);
      await ann.batch().emit(object, { n: 3 }).unlock(object).send();
    }
    const listed = await eventually('all events', async () => {
      const all = await ann.listEvents({ limit: 50 }).take(Number.POSITIVE_INFINITY);
      return all.length <= seen.events.length && all;
    });
    assert.deepEqual(seen.events.map((event) => event.id), listed.map((event) => event.id));
    assert.deepEqual(seen.events.filter(({ type }) => type === 'action.executed').map(({ data }) => (data as { payload: { n: number } }).payload.n), [1, 2, 3, 1, 2, 3]);
    const half = listed[Math.floor(listed.length / 2)] as Schemas['EventView'];
    const rest = follow(ann, {}, half.position);
    await eventually('the rest', () => rest.events.length === listed.length - Math.floor(listed.length / 2) - 1);
    for (const { end } of [seen, rest]) end.abort(new Error('enough'));
    assert.deepEqual((await Promise.all([seen.ended, rest.ended])).map((error) => (error as Error).message), ['enough', 'enough']);
  });
}

test('a stream ends where its reader stops, filters, and refuses what the service refuses', async () => {
  const ann = await registered(server.baseUrl);
  const { id } = await ann.createTemplate({ name: 'ticket' });
  await ann.batch().mint(id).mint(id).send();
  const types: string[] = [];
  for await (const { type } of ann.streamEvents({ after_sequence: 0, type: 'object.created,template.created' })) {
    types.push(type);
    if (types.length === 3) break;
  }
  assert.deepEqual(types, ['template.created', 'object.created', 'object.created']);
  await assert.rejects(ann.streamEvents({ type: 'no.such.type' }).next(), /VALIDATION_ERROR/);
});
