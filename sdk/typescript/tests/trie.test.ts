// Proofs against @ethereumjs/mpt: what one makes, the other accepts, and what was changed is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMPT, createMerkleProof, verifyMerkleProof } from '@ethereumjs/mpt';
import { RLP } from '@ethereumjs/rlp';
import { Refused } from '@kedge/sdk/verify';
import { type Hex, concat, fromHex, toHex, utf8 } from '#dist/protocol/bytes.js';
import { idOf } from '#dist/protocol/chain.js';
import { hashOf, keccak, u32 } from '#dist/protocol/hash.js';
import { decodeRlp } from '#dist/protocol/rlp.js';
import { EMPTY_TRIE, checkTrieProof, readNode } from '#dist/protocol/trie.js';
import { TrieBuilder } from './trie-builder.js';

const SEED = Number(process.env['KEDGE_TRIE_SEED'] ?? 1);
const TRIES = 24;
const PREFIXES = ['obj', 'wal', 'org', 'tpl', 'var', 'key', 'whk', 'fil', 'dsp'];

/** Words that follow from the seed alone. */
class Dice {
  #count = 0;
  below(most: number): number {
    this.#count += 1;
    return Number(BigInt(hashOf(u32(SEED), u32(this.#count)).slice(0, 18)) % BigInt(most));
  }
  word(): Hex {
    this.#count += 1;
    return hashOf(u32(SEED), u32(this.#count));
  }
  id(): string {
    return idOf(PREFIXES[this.below(PREFIXES.length)] as string, this.word());
  }
}

const check = (root: Hex, key: string, value: Uint8Array | null, nodes: readonly Uint8Array[]): void =>
  checkTrieProof(root, key, value === null ? null : toHex(value), nodes.map(readNode));

/** Whether the other implementation reads this value, or nothing, from these nodes. */
async function otherAccepts(root: Hex, key: string, value: Uint8Array | null, nodes: Uint8Array[]): Promise<boolean> {
  const found = await verifyMerkleProof(utf8(key), nodes, { useKeyHashing: true, root: fromHex(root) });
  return value === null ? found === null : found !== null && toHex(found) === toHex(value);
}

async function randomTrie(dice: Dice, size: number) {
  const values = new Map(Array.from({ length: size }, () => [dice.id(), fromHex(dice.word())] as const));
  const other = await createMPT({ useKeyHashing: true });
  for (const [key, value] of values) await other.put(utf8(key), value);
  return { values, other, ours: new TrieBuilder(values), root: toHex(other.root()) };
}

test('random tries: each accepts the proofs of the other', async () => {
  const dice = new Dice();
  const counts = { present: 0, absent: 0 };
  for (let i = 0; i < TRIES; i += 1) {
    const size = [1, 2, 3, 500][i] ?? 1 + dice.below(500);
    const { values, other, ours, root } = await randomTrie(dice, size);
    assert.equal(ours.root, root, `seed ${SEED}, ${size} keys`);
    const keys = [...values.keys()];
    for (let n = 0; n < 20; n += 1) {
      const isPresent = n % 2 === 0;
      const key = isPresent ? (keys[dice.below(size)] as string) : dice.id();
      const value = values.get(key) ?? null;
      const theirs = await createMerkleProof(other, utf8(key));
      check(root, key, value, theirs);
      const made = ours.proof(key);
      assert.deepEqual(made.map(toHex), theirs.map(toHex), 'a proof has one form');
      assert.ok(await otherAccepts(root, key, value, made));
      counts[isPresent ? 'present' : 'absent'] += 1;
    }
  }
  assert.deepEqual(counts, { present: 240, absent: 240 });
  assert.equal(toHex((await createMPT({ useKeyHashing: true })).root()), EMPTY_TRIE);
});

const flipped = (dice: Dice, bytes: Uint8Array): Uint8Array => {
  const copy = Uint8Array.from(bytes);
  const at = dice.below(copy.length);
  copy[at] = (copy[at] as number) ^ (1 << dice.below(8));
  return copy;
};

/** The nodes with another last one, each parent changed to name its child, and the root that follows. */
function relinked(nodes: readonly Uint8Array[], last: Uint8Array): { root: Hex; nodes: Uint8Array[] } {
  const changed = [last];
  for (let i = nodes.length - 2; i >= 0; i -= 1) {
    const [before, after] = [toHex(keccak(nodes[i + 1] as Uint8Array)), toHex(keccak(changed[0] as Uint8Array))];
    changed.unshift(fromHex(toHex(nodes[i] as Uint8Array).replace(before.slice(2), after.slice(2))));
  }
  return { root: toHex(keccak(changed[0] as Uint8Array)), nodes: changed };
}

test('1,000 changed proofs are refused', async () => {
  const dice = new Dice();
  const { values, ours, root } = await randomTrie(dice, 300);
  const keys = [...values.keys()];
  const foreign = new TrieBuilder(new Map([[dice.id(), fromHex(dice.word())]]));
  type Claim = { root: Hex; key: string; value: Uint8Array | null; nodes: Uint8Array[] };
  const edited = (edit: (nodes: Uint8Array[]) => void) => (claim: Claim): Claim => {
    const nodes = [...claim.nodes];
    edit(nodes);
    return { ...claim, nodes };
  };
  const replaceLast = (nodes: Uint8Array[], change: (last: Uint8Array) => Uint8Array): void => void nodes.push(change(nodes.pop() as Uint8Array));
  const changes: ((claim: Claim) => Claim)[] = [
    edited((nodes) => {
      const at = dice.below(nodes.length);
      nodes[at] = flipped(dice, nodes[at] as Uint8Array);
    }),
    edited((nodes) => void nodes.splice(dice.below(nodes.length), 1)),
    edited((nodes) => void nodes.splice(dice.below(nodes.length + 1), 0, foreign.proof('')[0] as Uint8Array)),
    edited((nodes) => void nodes.splice(1, 0, nodes[0] as Uint8Array)),
    edited((nodes) => void nodes.reverse()),
    edited((nodes) => replaceLast(nodes, (last) => concat([last, new Uint8Array(1)]))),
    edited((nodes) => replaceLast(nodes, (last) => last.subarray(0, -1))),
    (claim) => ({ ...claim, value: claim.value === null ? fromHex(dice.word()) : null }),
    (claim) => ({ ...claim, value: claim.value === null ? fromHex(dice.word()) : flipped(dice, claim.value) }),
    (claim) => ({ ...claim, root: foreign.root }),
    (claim) => ({ ...claim, root: EMPTY_TRIE }),
    // Linked by hash all the way: the last node itself is wrong. What it shows is another entry, or it has another form.
    (claim) => (claim.value === null ? { ...claim, nodes: [] } : { ...claim, ...relinked(claim.nodes, flipped(dice, claim.nodes.at(-1) as Uint8Array)) }),
  ];
  for (let i = 0; i < 1_000; i += 1) {
    const key = i % 3 === 0 ? dice.id() : (keys[dice.below(keys.length)] as string);
    const claim = { root, key, value: values.get(key) ?? null, nodes: ours.proof(key) };
    check(claim.root, claim.key, claim.value, claim.nodes);
    const change = changes[i % changes.length] as (claim: Claim) => Claim;
    const changed = change(claim);
    assert.throws(() => check(changed.root, changed.key, changed.value, changed.nodes), Refused, `seed ${SEED}, change ${i}`);
  }
});

test('RLP is read as @ethereumjs/rlp writes it, and in no other form', () => {
  const dice = new Dice();
  const bytes = (size: number): Uint8Array => fromHex(`0x${dice.word().slice(2).repeat(1 + size / 32)}`).subarray(0, size);
  const sizes = [0, 1, 2, 54, 55, 56, 57, 255, 256, 257, 65_535, 65_536];
  for (const size of sizes) {
    for (const item of [bytes(size), [bytes(size)], [[bytes(size), []], bytes(1)]]) {
      const encoded = RLP.encode(item);
      assert.equal(toHex(RLP.encode(decodeRlp(encoded) as Uint8Array)), toHex(encoded), `${size} bytes`);
      for (const cut of [0, 1, 2, Math.floor(encoded.length / 2), encoded.length - 1]) {
        if (cut < encoded.length) assert.throws(() => decodeRlp(encoded.subarray(0, cut)), Refused);
      }
      assert.throws(() => decodeRlp(concat([encoded, new Uint8Array(1)])), Refused);
    }
  }
  const spoiled = [
    '0x8100', '0x817f', '0xb800', '0xb801ff', `0xb837${'00'.repeat(55)}`, `0xb90038${'00'.repeat(56)}`, '0xf800', `0xf837${'80'.repeat(55)}`,
    '0xbfffffffffffffffff', '0xffffffffffffffffff', '0xbb80000000', '0xc1', '0xc281', '0xc3820000ff', '0xc4c3c2c1c0', `0x${'c1'.repeat(100_000)}c0`,
  ];
  for (const hex of spoiled) assert.throws(() => decodeRlp(fromHex(hex)), Refused, hex.slice(0, 40));
  // Random bytes: what is read is canonical, so it encodes to the same bytes.
  let read = 0;
  for (let i = 0; i < 20_000; i += 1) {
    const given = concat([Uint8Array.of(0xc0 + dice.below(8)), bytes(7)]).subarray(0, 1 + dice.below(8));
    try {
      assert.equal(toHex(RLP.encode(decodeRlp(given) as Uint8Array)), toHex(given));
      read += 1;
    } catch (error) {
      assert.ok(error instanceof Refused, String(error));
    }
  }
  assert.ok(read > 100, `${read} of them are RLP`);
});

test('a path may be as deep as a key allows', () => {
  // No two keys share 63 nibbles, so the nodes are made by hand: 64 branches and a leaf without a path.
  const [key, value] = ['obj_13abd7507hvv63nkrvn17bjhe9', fromHex(hashOf('0x02'))];
  const path = toHex(keccak(utf8(key))).slice(2);
  const sibling = fromHex(hashOf('0x03'));
  const nodes = [RLP.encode([Uint8Array.of(0x20), value])];
  const above = (depth: number): void => {
    const children = Array.from({ length: 17 }, (_, i) => (i < 16 && i !== Number.parseInt(path[depth] as string, 16) ? sibling : new Uint8Array(0)));
    children[Number.parseInt(path[depth] as string, 16)] = keccak(nodes[0] as Uint8Array);
    nodes.unshift(RLP.encode(children));
  };
  for (let depth = 63; depth >= 0; depth -= 1) above(depth);
  assert.equal(nodes.length, 65);
  check(toHex(keccak(nodes[0] as Uint8Array)), key, value, nodes);
  const { root, nodes: deeper } = relinked(nodes, RLP.encode([Uint8Array.of(0x30), value]));
  assert.throws(() => check(root, key, value, deeper), /does not end after 64/);
});

test('short and long nodes, and nodes of an empty trie', () => {
  const leaf = RLP.encode([fromHex(`0x20${hashOf('0x01').slice(2)}`), fromHex(hashOf('0x02'))]);
  readNode(leaf);
  assert.throws(() => readNode(fromHex('0xc22001')), /less than 32 bytes/);
  assert.throws(() => readNode(RLP.encode(Array.from({ length: 17 }, () => leaf))), /longer than a branch/);
  assert.throws(() => check(EMPTY_TRIE, 'obj_13abd7507hvv63nkrvn17bjhe9', null, [leaf]), /has no nodes/);
});

test('extensions: too long, to a leaf, to an extension', () => {
  const key = 'obj_13abd7507hvv63nkrvn17bjhe9';
  const path = toHex(keccak(utf8(key))).slice(2);
  const value = fromHex(hashOf('0x02'));
  const refusal = (nodes: Uint8Array[]): RegExp | null => {
    try {
      check(toHex(keccak(nodes[0] as Uint8Array)), key, value, nodes);
      return null;
    } catch (error) {
      assert.ok(error instanceof Refused);
      return new RegExp(error.message);
    }
  };
  const extension = (own: string, child: Uint8Array): Uint8Array => RLP.encode([fromHex(own.length % 2 === 1 ? `0x1${own}` : `0x00${own}`), keccak(child)]);
  const leaf = (own: string): Uint8Array => RLP.encode([fromHex(own.length % 2 === 1 ? `0x3${own}` : `0x20${own}`), value]);
  const end = leaf(path.slice(4));
  const middle = extension(path.slice(2, 4), end);
  assert.match('an extension leads to another node than a branch', refusal([extension(path.slice(0, 4), end), end]) as RegExp);
  assert.match('an extension leads to another node than a branch', refusal([extension(path.slice(0, 2), middle), middle, end]) as RegExp);
  const long = leaf('');
  assert.match('the path of an extension leaves no nibble for the branch below it', refusal([extension(path, long), long]) as RegExp);
});
