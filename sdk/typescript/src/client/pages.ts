/** Paged lists. */

import { refuseUnless } from '../refused.js';

/** One page of a list. */
export interface Page<T> {
  /** The records of the page. */
  readonly items: T[];
  /** Start of the next page; null on the last one. */
  readonly cursor: string | null;
  /** Whether more records follow. */
  readonly has_more: boolean;
}

type ItemOf<P> = P extends { items: (infer T)[] } ? T : never;

/**
 * A list. Awaiting it reads the first page; iterating it reads all records, with pages fetched on demand:
 *
 * ```ts
 * const { items } = await kedge.listObjects({ limit: 10 });
 * for await (const object of kedge.listObjects()) …
 * ```
 *
 * A page that names no cursor although more records follow, or the cursor of an earlier page, is {@link Refused}.
 */
export class Listing<P extends { items: unknown[]; cursor: string | null; has_more?: boolean }> implements PromiseLike<P>, AsyncIterable<ItemOf<P>> {
  #first: Promise<P> | null = null;

  /** @internal */
  constructor(
    readonly fetchPage: (cursor: string | null) => Promise<P>,
    /** Cursor of the first page. */
    readonly begin: string | null = null,
  ) {}

  async #fetch(cursor: string | null): Promise<P> {
    const page = await this.fetchPage(cursor);
    refuseUnless(page.cursor !== null || page.has_more !== true, 'more records follow, and the cursor of the next page is missing');
    return page;
  }

  #page(): Promise<P> {
    return (this.#first ??= this.#fetch(null));
  }

  // Awaiting a list reads its first page.
  then<A = P, B = never>(done?: ((page: P) => A | PromiseLike<A>) | null, failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    return this.#page().then(done, failed);
  }

  /** All pages, fetched on demand. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    const seen = new Set([this.begin]);
    for (let page = await this.#page(); ; page = await this.#fetch(page.cursor)) {
      refuseUnless(page.cursor === null || !seen.has(page.cursor), 'the cursor of an earlier page occurs again');
      seen.add(page.cursor);
      yield page;
      if (page.cursor === null) return;
    }
  }

  /** All records, in order. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<P>, void, undefined> {
    for await (const page of this.pages()) yield* page.items as ItemOf<P>[];
  }

  /** The first `most` records in one array. */
  async take(most: number): Promise<ItemOf<P>[]> {
    const taken: ItemOf<P>[] = [];
    if (most <= 0) return taken;
    for await (const item of this) {
      taken.push(item);
      if (taken.length >= most) break;
    }
    return taken;
  }
}
