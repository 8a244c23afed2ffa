// A trie made from scratch, for tests: its root and its proofs, by the yellow paper's definition (appendix D).

import { type Input, RLP } from '@ethereumjs/rlp';
import { type Hex, fromHex, toHex, utf8 } from '#dist/protocol/bytes.js';
import { keccak } from '#dist/protocol/hash.js';
import { EMPTY_TRIE } from '#dist/protocol/trie.js';

interface Item {
  readonly path: string;
  readonly value: Uint8Array;
}

/** Bytes of a path with its flag: 2 for a leaf, 0 for an extension, and 1 more where the path is odd. */
const pathBytes = (path: string, flag: number): Uint8Array => fromHex(`0x${path.length % 2 === 1 ? `${flag + 1}` : `${flag}0`}${path}`);

function sharedLength(items: readonly Item[], depth: number): number {
  const [first, last] = [items[0] as Item, items.at(-1) as Item];
  let length = 0;
  while (first.path[depth + length] === last.path[depth + length]) length += 1;
  return length;
}

export class TrieBuilder {
  readonly nodes = new Map<Hex, Uint8Array>();
  readonly root: Hex;

  /** @param values 32 bytes under each key */
  constructor(values: ReadonlyMap<string, Uint8Array>) {
    const items = [...values].map(([key, value]) => ({ path: toHex(keccak(utf8(key))).slice(2), value }));
    items.sort((one, other) => (one.path < other.path ? -1 : 1));
    this.root = items.length === 0 ? EMPTY_TRIE : toHex(this.#node(items, 0));
  }

  #kept(node: Input): Uint8Array {
    const bytes = RLP.encode(node);
    const hash = keccak(bytes);
    this.nodes.set(toHex(hash), bytes);
    return hash;
  }

  #node(items: readonly Item[], depth: number): Uint8Array {
    const [only] = items as [Item];
    if (items.length === 1) return this.#kept([pathBytes(only.path.slice(depth), 2), only.value]);
    const shared = sharedLength(items, depth);
    if (shared > 0) return this.#kept([pathBytes(only.path.slice(depth, depth + shared), 0), this.#node(items, depth + shared)]);
    const children: Input[] = [];
    for (let nibble = 0; nibble < 16; nibble += 1) {
      const below = items.filter(({ path }) => Number.parseInt(path[depth] as string, 16) === nibble);
      children.push(below.length === 0 ? '' : this.#node(below, depth + 1));
    }
    return this.#kept([...children, '']);
  }

  /** Nodes from the root to where the key's path ends. */
  proof(key: string): Uint8Array[] {
    const path = toHex(keccak(utf8(key))).slice(2);
    const proof: Uint8Array[] = [];
    let [at, depth]: [Uint8Array | null, number] = [this.root === EMPTY_TRIE ? null : fromHex(this.root), 0];
    while (at !== null) {
      const bytes = this.nodes.get(toHex(at)) as Uint8Array;
      const items = RLP.decode(bytes) as Uint8Array[];
      proof.push(bytes);
      at = null;
      if (items.length === 17) {
        const child = items[Number.parseInt(path[depth] as string, 16)] as Uint8Array;
        if (child.length > 0) [at, depth] = [child, depth + 1];
      } else {
        const encoded = toHex(items[0] as Uint8Array).slice(2);
        const own = encoded.slice(Number.parseInt(encoded[0] as string, 16) % 2 === 1 ? 1 : 2);
        const isExtension = Number.parseInt(encoded[0] as string, 16) < 2;
        if (isExtension && path.startsWith(own, depth)) [at, depth] = [items[1] as Uint8Array, depth + own.length];
      }
    }
    return proof;
  }
}
