// An event stream through the standard's reference client: it reconnects by itself, and sees everything once.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { EventSource } from 'eventsource';
import { KedgeClient, readTrust } from './kedge-client.mjs';
import { admin, eventually, rpc, startSystem } from './harness.mjs';
import * as p from './protocol.mjs';

const TYPES = [
  'object.created', 'object.updated', 'object.transferred', 'object.locked', 'object.unlocked', 'object.burned',
  'template.created', 'variation.created', 'wallet.registered', 'file.created', 'action.executed', 'action.failed',
  'batch.sealed', 'batch.anchored', 'anchor.confirmed',
];

let system;
let ann;
let object;

before(async () => {
  system = await startSystem();
  ann = new KedgeClient(system.baseUrl, await readTrust(system.baseUrl));
  await ann.register({ email: 'ann@example.com', password: 'a long enough passphrase' });
  const template = await ann.createTemplate({ name: 'ticket' });
  const minted = await ann.batch([{ kind: 'mint', target: template.id, payload: '{}' }]);
  object = p.madeId('obj', minted.contents[0], 0);
});

after(async () => {
  if (system) assert.equal(await system.stop(), 0, 'the server drains and ends well');
});

/** Follows everything; resolves when the stream is open. */
async function follow(query = '') {
  const withToken = (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${ann.token}` } });
  const source = new EventSource(`${system.baseUrl}/ebus/events/stream${query}`, { fetch: withToken });
  const seen = [];
  let opened = 0;
  for (const type of TYPES) {
    source.addEventListener(type, (message) => {
      const event = JSON.parse(message.data);
      assert.deepEqual([event.type, event.position], [type, message.lastEventId]);
      seen.push(event);
    });
  }
  source.addEventListener('open', () => (opened += 1));
  await eventually('the stream', () => opened === 1);
  return { source, seen, opened: () => opened };
}

const ids = (events) => events.map(({ id }) => id);

async function all() {
  const items = [];
  let cursor = '';
  for (;;) {
    const { body } = await ann.get(`/ebus/events?limit=50${cursor}`);
    items.push(...body.items);
    if (!body.has_more) return items;
    cursor = `&cursor=${body.cursor}`;
  }
}

const emit = (n) => ({ kind: 'emit', target: object, payload: `{"n":\n${n}}` });
const refused = () => ({ kind: 'unlock', target: object, payload: '{}' });

test('nothing is missed and nothing comes twice, however the server ends', async () => {
  const { source, seen, opened } = await follow('?after_sequence=0');
  try {
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGKILL']) {
      const times = opened();
      await ann.batch([emit(1), refused(), emit(2)]);
      // The client must not miss what is committed while it is away.
      await system.restart(signal);
      await ann.batch([emit(3), refused()]);
      await eventually('the stream comes back', () => opened() > times);
      await ann.batch([refused()]);
    }
    const listed = await eventually('all events', async () => {
      const listed = await all();
      return listed.length <= seen.length && listed;
    });
    assert.deepEqual(ids(seen), ids(listed));
    assert.equal(new Set(ids(seen)).size, seen.length);
    assert.equal(seen.filter(({ type }) => type === 'action.failed').length, 9);
    assert.deepEqual(seen.filter(({ type }) => type === 'action.executed').map(({ data }) => data.payload.n), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
  } finally {
    source.close();
  }
});

test('everybody hears of anchors, when the chain holds one and when it is final', async () => {
  const { source, seen } = await follow('?type=batch.anchored,anchor.confirmed');
  try {
    const { body } = await ann.get('/batches?order=desc&limit=1');
    assert.equal((await admin(system.socketPath, 'anchor_now')).ok, true);
    await eventually('the anchor', async () => {
      await rpc(system.rpcUrl, 'evm_mine');
      return seen.some(({ type }) => type === 'anchor.confirmed');
    });
    assert.deepEqual(seen.map(({ type }) => type), ['batch.anchored', 'anchor.confirmed']);
    const [anchored, confirmed] = seen;
    const anchor = (await ann.get(`/anchors/${anchored.data.anchor_id}`)).body;
    assert.equal(anchor.status, 'finalized');
    assert.deepEqual([anchored.data.tx_hash, anchored.data.block_number], [anchor.tx_hash, anchor.block_number]);
    assert.ok(anchored.data.last_batch >= body.items[0].number);
    assert.deepEqual([anchored.data.status, confirmed.data.status], ['anchored', 'finalized']);
    assert.deepEqual([anchored.organization_id, anchored.action_id], [null, null]);
    // They follow the log's last batch, and keep their place in the list.
    const { body: list } = await ann.get('/ebus/events?type=anchor.*,batch.anchored');
    assert.deepEqual(ids(list.items), ids(seen));
  } finally {
    source.close();
  }
});
