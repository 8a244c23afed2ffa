/** The exact texts of answers. The client reads numbers as doubles, which drops the digits that those cannot hold. */

import type { CallOptions, Fetch, Listing } from '@kedge/sdk';
import { type Exact, type ExactObject, isList, isObject, memberOf, readExact } from './schema/exact';

/** The texts that are asked for, by the ids of their requests. */
const wanted = new Map<string, string>();

let count = 0;

/** An id that no other request of this page has. */
const nextId = (): string => `console-${Date.now().toString(36)}-${(count += 1)}`;

/**
 * `fetch`, which keeps the texts that are asked for. It asks each time whether an answer is still so: a list that may be
 * cached would not show what was just made.
 */
export const fetchKeepingTexts: Fetch = async (url, init) => {
  const answer = await fetch(url, { ...init, cache: 'no-cache' });
  const id = (init.headers as Record<string, string> | undefined)?.['x-request-id'];
  if (id !== undefined && wanted.has(id)) wanted.set(id, await answer.clone().text());
  return answer;
};

/** An answer as the client reads it, and with exact numbers. */
export interface ExactAnswer<T> {
  readonly value: T;
  readonly exact: ExactObject;
}

/** Reads an answer with its exact numbers. */
export async function readingExactly<T>(read: (options: CallOptions) => PromiseLike<T>): Promise<ExactAnswer<T>> {
  const requestId = nextId();
  wanted.set(requestId, 'null');
  try {
    const value = await read({ requestId });
    const exact = readExact(wanted.get(requestId) ?? 'null');
    return { value, exact: isObject(exact) ? exact : {} };
  } finally {
    wanted.delete(requestId);
  }
}

/** A list whose items have exact numbers. */
export function listingExactly<T>(list: (options: CallOptions) => Listing<{ items: T[]; cursor: string | null; has_more: boolean }>) {
  return {
    async *pages(): AsyncGenerator<{ items: ExactAnswer<T>[]; cursor: string | null; has_more: boolean }, void, undefined> {
      const requestId = nextId();
      wanted.set(requestId, 'null');
      try {
        for await (const page of list({ requestId }).pages()) {
          const exact = readExact(wanted.get(requestId) ?? 'null');
          const items = isObject(exact) ? memberOf(exact, 'items') : undefined;
          const exactItem = (i: number): ExactObject => {
            const item = isList(items) ? items[i] : undefined;
            return isObject(item) ? item : {};
          };
          yield { ...page, items: page.items.map((value, i) => ({ value, exact: exactItem(i) })) };
        }
      } finally {
        wanted.delete(requestId);
      }
    },
  };
}

/** A member that holds an object; an empty one if it holds none. */
export function objectIn(of: Exact | undefined, name: string): ExactObject {
  const member = isObject(of) ? memberOf(of, name) : undefined;
  return isObject(member) ? member : {};
}
