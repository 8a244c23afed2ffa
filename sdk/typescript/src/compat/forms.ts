/** Conversion between the earlier SDKs' inputs and answers and this SDK's. */

import type { ActionInput } from '../client/bus.js';
import type { Listing } from '../client/pages.js';
import { translated } from './errors.js';

/** Any object. */
export type Fields = Record<string, unknown>;

/** One page: `next` reads the next one; null on the last. */
export interface CompatPage<T> {
  items: T[];
  next: string | null;
}

/** Options of a list. */
export interface CompatListParams {
  limit?: number;
  next?: string | null;
  [filter: string]: unknown;
}

/** The query of a list. */
export const listQuery = ({ next, ...others }: CompatListParams = {}): Fields => (next == null ? others : { ...others, cursor: next });

/** A page in the earlier form. */
export const pageOf = <T>(listing: Listing<{ items: T[]; cursor: string | null; has_more: boolean }>): Promise<CompatPage<T>> =>
  translated(async () => {
    const { items, cursor } = await listing;
    return { items, next: cursor };
  });

/** All records of a list that the earlier SDKs return completely. */
export const allOf = <T>(listing: Listing<{ items: T[]; cursor: string | null; has_more: boolean }>): Promise<T[]> =>
  translated(() => listing.take(Number.POSITIVE_INFINITY) as Promise<T[]>);

/** An action: `{action_type, payload, …}`, or `{action: {mint: {…}}}`. */
export type CompatAction =
  | { action_type: string; payload?: Fields; object_id?: string; template_id?: string }
  | { action: Record<string, Fields> };

const PROPERTIES = ['custom', 'data', 'properties'];

/** Renames the members for properties to their name in this SDK. */
function withProperties(fields: Fields): Fields {
  const given = PROPERTIES.filter((name) => fields[name] !== undefined);
  const others = Object.fromEntries(Object.entries(fields).filter(([name]) => !PROPERTIES.includes(name)));
  return given.length === 0 ? others : { ...others, properties: Object.assign({}, ...given.map((name) => fields[name])) };
}

/** An action in this SDK's form. Throws a TypeError if it has no counterpart. */
export function actionOf(input: CompatAction): ActionInput {
  if ('action_type' in input) {
    const { action_type: kind, payload = {}, ...fields } = input;
    const { object_id, template_id, ...rest } = payload as Fields;
    const target = kind === 'mint' ? { template_id: fields.template_id ?? template_id } : { object_id: fields.object_id ?? object_id };
    return { action_type: kind, ...target, payload: rest } as ActionInput;
  }
  const named = Object.entries(input.action);
  const [first] = named;
  if (first === undefined || named.length !== 1) throw new TypeError('an action names one kind');
  const [kind, { id, template_id, num, ...rest }] = first;
  if (num !== undefined && num !== 1) throw new TypeError('one mint makes one object: send several with executeBatch');
  const target = kind === 'mint' ? { template_id } : { object_id: id };
  const payload = kind === 'mint' || kind === 'update' ? withProperties(rest) : rest;
  return { action_type: kind, ...target, payload } as ActionInput;
}

/** A search: an unchanged `filter`, or the members that objects must have. */
export function searchOf({ filter, limit, next, sort, properties, ...members }: Fields): Fields {
  const page = { ...(limit === undefined ? {} : { limit }), ...(next == null ? {} : { cursor: next }), ...(sort === undefined ? {} : { sort }) };
  if (filter !== undefined) return { filter, ...page };
  const wanted = Object.entries((properties ?? {}) as Fields).map(([name, value]) => [`properties.${name}`, value]);
  const and = [...Object.entries(members), ...wanted].map(([field, value]) => ({ field, op: 'eq', value }));
  return { filter: and.length === 1 ? and[0] : { and }, ...page };
}
