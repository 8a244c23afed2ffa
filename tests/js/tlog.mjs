// The log as C2SP tiles: entries, the SHA-256 tree over them, tiles and their paths, and the log's origin. Written from
// the protocol's text. Sizes, indices and levels are bigints, because a log may hold more than 2^53 batches.

import { bytesToHex, concat, hexToBytes, numberToHex, sha256, slice } from 'viem';
import { TYPES } from './protocol.mjs';
import { refuseUnless } from './reading.mjs';
import { treesOf } from './trees.mjs';

export const BATCH_TYPEHASH = '0x562fa8e15faae1788626b31fd48e1da4339d919fbf1f472a819b44d5ef534da3';
export const ENTRY_BYTES = 320;
const TILE_WIDTH = 256n;
const LEVEL_MAX = 63n;
const ORIGIN_BYTES_MAX = 255;
// What the URL standard leaves in a host, and no plus, which no name in a note may hold.
const HOST = /^[!"$&'()*,\-.0-9:;=[\]_`a-z{}~]+$/;
const BITS = { uint32: 32n, uint64: 64n, bytes32: 256n };

const join = (...parts) => sha256(concat(parts));
export const { rootOf, checkInclusion, checkConsistency } = treesOf(join);

// Entries

/** The 320 bytes of a header, whose keccak256 is its batch hash. */
export const entryOf = (message) =>
  concat([BATCH_TYPEHASH, ...TYPES.Batch.map(({ name }) => (typeof message[name] === 'string' ? message[name] : numberToHex(message[name], { size: 32 })))]);

/** The header that an entry spells, numbers as bigints. Refuses bytes that spell none. */
export function headerOfEntry(entry) {
  refuseUnless(entry.length === 2 + 2 * ENTRY_BYTES, 'an entry has 320 bytes');
  refuseUnless(slice(entry, 0, 32) === BATCH_TYPEHASH, 'the entry is of another type');
  const message = {};
  TYPES.Batch.forEach(({ name, type }, i) => {
    const value = slice(entry, 32 * (i + 1), 32 * (i + 2));
    refuseUnless(BigInt(value) < 2n ** BITS[type], `${name} is out of its range`);
    message[name] = type === 'bytes32' ? value : BigInt(value);
  });
  return message;
}

export const leafOf = (entry) => join('0x00', entry);

// Tiles

/** The path of a tile or, with the level `entries`, of a bundle. A width of 256 is a full one. */
export function tilePath(level, n, width) {
  const digits = n.toString();
  const groups = digits.padStart(3 * Math.ceil(digits.length / 3), '0').match(/.{3}/g);
  const place = groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/');
  return `tile/${level}/${place}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

/** What a path names, if a log with this many batches serves it. Refuses what it answers with 404. */
export function servedTile(path, batches) {
  const match = /^tile\/(entries|0|[1-9][0-9]?)\/((?:x[0-9]{3}\/)*[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/.exec(path);
  refuseUnless(match !== null, 'no path of a tile');
  const level = match[1] === 'entries' ? 'entries' : BigInt(match[1]);
  const n = BigInt(match[2].replace(/[x/]/g, ''));
  const width = match[3] === undefined ? TILE_WIDTH : BigInt(match[3]);
  refuseUnless(level === 'entries' || level <= LEVEL_MAX, 'a level above 63');
  // One spelling of each: no leading group of zeros, and no partial tile of full width.
  refuseUnless(width <= TILE_WIDTH && path === tilePath(level, n, width), 'another spelling, or too wide');
  const hashes = batches / TILE_WIDTH ** (level === 'entries' ? 0n : level);
  refuseUnless(n * TILE_WIDTH + width <= hashes, 'the log is not so large');
  return { level, n, width };
}

function bundleOf(entries) {
  return concat(entries.map((entry) => concat([numberToHex((entry.length - 2) / 2, { size: 2 }), entry])));
}

/** The files of a log: full tiles and bundles, and the partial ones at its end, by path. */
export function tilesOf(entries) {
  const files = new Map();
  const cut = (level, list, bytesOf) => {
    for (let at = 0; at < list.length; at += 256) {
      const part = list.slice(at, at + 256);
      files.set(tilePath(level, BigInt(at / 256), BigInt(part.length)), bytesOf(part));
    }
  };
  cut('entries', entries, bundleOf);
  let hashes = entries.map(leafOf);
  for (let level = 0n; hashes.length > 0; level += 1n) {
    cut(level, hashes, concat);
    // A partial tile gives no hash to the level above.
    const full = hashes.length - (hashes.length % 256);
    const above = [];
    for (let at = 0; at < full; at += 256) above.push(rootOf(hashes.slice(at, at + 256)));
    hashes = above;
  }
  return files;
}

/** The entries of a bundle of this width. Refuses one that is cut short or holds more. */
export function entriesOf(bundle, width) {
  const bytes = hexToBytes(bundle);
  const entries = [];
  let at = 0;
  for (let i = 0; i < Number(width); i += 1) {
    const end = at + 2 + bytes[at] * 256 + bytes[at + 1];
    refuseUnless(end <= bytes.length, 'the bundle is too short');
    entries.push(bytesToHex(bytes.slice(at + 2, end)));
    at = end;
  }
  refuseUnless(at === bytes.length, 'the bundle is too long');
  return entries;
}

// The origin

const suffixOf = (domain) => `/${domain.chainId}/${domain.verifyingContract.toLowerCase()}`;
const isOriginShort = (origin) => Buffer.byteLength(origin) <= ORIGIN_BYTES_MAX;

/** The origin of a log with this public URL, or null where there is none. */
export function originOf(publicUrl, domain) {
  if (!URL.canParse(publicUrl)) return null;
  const { protocol, hostname } = new URL(publicUrl);
  if ((protocol !== 'http:' && protocol !== 'https:') || hostname.includes('+')) return null;
  const origin = `${hostname}${suffixOf(domain)}`;
  return isOriginShort(origin) ? origin : null;
}

/** Refuses an origin that is not of the domain's log. */
export function checkOrigin(origin, domain) {
  const suffix = suffixOf(domain);
  const host = origin.slice(0, -suffix.length);
  refuseUnless(origin.endsWith(suffix) && HOST.test(host) && isOriginShort(origin), 'the origin is not of this log');
}
