// Merkle trees after RFC 9162, for any hash: the log's trees hash with keccak256, its tiles with SHA-256.

import { refuseUnless } from './reading.mjs';

/** The checks of trees whose hash is `join`, which takes the parts of a preimage as hex. */
export function treesOf(join) {
  const node = (left, right) => join('0x01', left, right);

  function rootOf(leaves) {
    if (leaves.length === 0) return join();
    let layer = leaves;
    while (layer.length > 1) {
      const above = [];
      for (let i = 0; i < layer.length; i += 2) above.push(i + 1 < layer.length ? node(layer[i], layer[i + 1]) : layer[i]);
      layer = above;
    }
    return layer[0];
  }

  /** Checks a path (one index) or a multiproof. Indices and count are numbers or bigints. */
  function checkInclusion(root, count, indices, leaves, proof) {
    refuseUnless(indices.length > 0 && indices.length === leaves.length, 'one leaf for each index, and at least one');
    let width = BigInt(count);
    let layer = indices.map((index, i) => ({ index: BigInt(index), hash: leaves[i] }));
    refuseUnless(layer.every(({ index }, i) => i === 0 || layer[i - 1].index < index), 'indices rise strictly');
    refuseUnless(layer[layer.length - 1].index < width, 'indices lie below the count');
    const words = [...proof];
    const take = () => {
      refuseUnless(words.length > 0, 'the proof is too short');
      return words.shift();
    };
    while (width > 1n) {
      const above = [];
      for (let i = 0; i < layer.length; i += 1) {
        const { index, hash } = layer[i];
        let parent;
        if (index % 2n === 1n) parent = node(take(), hash);
        else if (index + 1n === width) parent = hash;
        else if (i + 1 < layer.length && layer[i + 1].index === index + 1n) parent = node(hash, layer[(i += 1)].hash);
        else parent = node(hash, take());
        above.push({ index: index / 2n, hash: parent });
      }
      layer = above;
      width = (width + 1n) / 2n;
    }
    refuseUnless(words.length === 0, 'the proof is too long');
    refuseUnless(layer[0].hash === root, 'the proof leads to another root');
  }

  function checkConsistency(from, to, first, second, proof) {
    const [m, n] = [BigInt(from), BigInt(to)];
    refuseUnless(m >= 1n && m <= n, 'sizes are at least 1 and do not fall');
    if (m === n) {
      refuseUnless(proof.length === 0, 'the proof is too long');
      refuseUnless(first === second, 'equal sizes have equal roots');
      return;
    }
    const words = (m & (m - 1n)) === 0n ? [first, ...proof] : [...proof];
    refuseUnless(words.length > 0, 'the proof is too short');
    let [f, s] = [m - 1n, n - 1n];
    const halve = () => {
      f >>= 1n;
      s >>= 1n;
    };
    while (f % 2n === 1n) halve();
    let a = words[0];
    let b = words[0];
    for (const word of words.slice(1)) {
      refuseUnless(s !== 0n, 'the proof is too long');
      if (f % 2n === 1n || f === s) {
        a = node(word, a);
        b = node(word, b);
        while (f % 2n === 0n && f !== 0n) halve();
      } else {
        b = node(b, word);
      }
      halve();
    }
    refuseUnless(s === 0n, 'the proof is too short');
    refuseUnless(a === first && b === second, 'the proof leads to other roots');
  }

  return { rootOf, checkInclusion, checkConsistency };
}
