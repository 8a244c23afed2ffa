/** Headers seen by a client: each is verified once, and contradictions are noticed. */

import type { Hex } from '../protocol/bytes.js';
import type { Header } from '../protocol/domain.js';
import type { SignedBatch } from '../verify/forms.js';
import type { SeenHeaders } from '../verify/placed.js';
import { Contradiction } from './errors.js';

/** Number of remembered headers, the newest ones. */
const HEADERS_MAX = 1024;

interface Seen {
  readonly batch: SignedBatch;
  readonly hash: Hex;
}

/** Headers by number. */
export class HeaderWatch implements SeenHeaders {
  readonly #seen = new Map<bigint, Seen>();

  has({ header, signature }: SignedBatch, hash: Hex): boolean {
    const known = this.#seen.get(header.number);
    return known !== undefined && known.hash === hash && known.batch.signature === signature;
  }

  add(batch: SignedBatch, hash: Hex): void {
    const { number } = batch.header;
    const here = { batch, hash };
    const known = this.#seen.get(number);
    if (known !== undefined && known.hash !== hash) throw contradiction(`two headers have the number ${number}`, known, here);
    const [before, after] = [this.#seen.get(number - 1n), this.#seen.get(number + 1n)];
    if (before !== undefined && !joins(before.batch.header, batch.header)) throw contradiction(`batch ${number} does not join the one before`, before, here);
    if (after !== undefined && !joins(batch.header, after.batch.header)) throw contradiction(`batch ${number} does not join the next one`, here, after);
    this.#seen.set(number, here);
    if (this.#seen.size > HEADERS_MAX) this.#forgetOne();
  }

  #forgetOne(): void {
    let lowest: bigint | null = null;
    for (const number of this.#seen.keys()) if (lowest === null || number < lowest) lowest = number;
    if (lowest !== null) this.#seen.delete(lowest);
  }
}

const joins = (before: Header, after: Header): boolean =>
  after.previous_head === before.head && after.first_sequence === before.first_sequence + before.count && after.sealed_at_ms >= before.sealed_at_ms;

const contradiction = (what: string, one: Seen, other: Seen): Contradiction =>
  new Contradiction(`${what}: keep both headers, they are evidence of a fault`, [one.batch, other.batch], [one.hash, other.hash]);
