/**
 * JSON whose numbers keep their exact spelling: 1.10 stays 1.10, and 9007199254740993 is not rounded. A number is a
 * `JsonText`, which `writeJson` writes unchanged.
 */

import { JsonText, writeJson } from '@kedge/sdk';

/** A JSON value with exact numbers. */
export type Exact = string | boolean | null | JsonText | readonly Exact[] | ExactObject;

/** A JSON object with exact numbers. */
export interface ExactObject {
  readonly [name: string]: Exact;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g;

/** Reads JSON. Throws a SyntaxError for anything else. */
export function readExact(text: string): Exact {
  JSON.parse(text);
  // A letter before each text tells it from a number, which is read as a text too.
  const marked = text.replace(TOKEN, (token) => (token.startsWith('"') ? `"s${token.slice(1)}` : `"n${token}"`));
  return unmarked(JSON.parse(marked));
}

function unmarked(value: unknown): Exact {
  if (typeof value === 'string') return value.startsWith('n') ? new JsonText(value.slice(1)) : value.slice(1);
  if (Array.isArray(value)) return value.map(unmarked);
  if (value === null || typeof value !== 'object') return value as boolean | null;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.slice(1), unmarked(member)]));
}

/** Reads a value of an answer, whose numbers have been read already. */
export const exactOf = (value: unknown): Exact => readExact(writeJson(value ?? null));

export const isObject = (value: Exact | undefined): value is ExactObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonText);

export const isList = (value: Exact | undefined): value is readonly Exact[] => Array.isArray(value);

/** A member, if the object has one with this name itself. */
export const memberOf = (object: ExactObject, name: string): Exact | undefined => (Object.hasOwn(object, name) ? object[name] : undefined);

/** Whether two values have the same content; members may stand in another order. */
export function isSame(a: Exact | undefined, b: Exact | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (isList(a)) return isList(b) && a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  if (!isObject(a)) return !isObject(b) && writeJson(a) === writeJson(b);
  if (!isObject(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => isSame(a[name], memberOf(b, name)));
}

/** JSON with an indentation of two spaces. */
export function indentedExact(value: Exact, margin = ''): string {
  const inner = `${margin}  `;
  if (isList(value)) return value.length === 0 ? '[]' : `[\n${value.map((item) => inner + indentedExact(item, inner)).join(',\n')}\n${margin}]`;
  if (!isObject(value)) return writeJson(value);
  const members = Object.entries(value).map(([name, member]) => `${inner}${JSON.stringify(name)}: ${indentedExact(member, inner)}`);
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${margin}}`;
}

/** An object with a patch merged into it (RFC 7396). */
export function merged(target: Exact, patch: Exact): Exact {
  if (!isObject(patch)) return patch;
  const members = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) members.delete(name);
    else members.set(name, merged(members.get(name) ?? {}, change));
  }
  return Object.fromEntries(members);
}

/** The patch that makes `after` of `before` (RFC 7396). Calls `onNull` with the pointer of each null that no patch can set. */
export function patchOf(before: ExactObject, after: ExactObject, onNull: (pointer: string) => void, pointer = ''): ExactObject {
  const patch: [string, Exact][] = [];
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) patch.push([name, null]);
  for (const [name, value] of Object.entries(after)) {
    const old = memberOf(before, name);
    if (isSame(old, value)) continue;
    const at = `${pointer}/${escaped(name)}`;
    if (value === null) onNull(at);
    else if (isObject(value)) patch.push([name, patchOf(isObject(old) ? old : {}, value, onNull, at)]);
    else patch.push([name, value]);
  }
  return Object.fromEntries(patch);
}

/** A name as a part of a JSON pointer (RFC 6901). */
export const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** The names on the way that a JSON pointer leads. */
export const namesOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A place where two values differ. */
export interface Difference {
  readonly pointer: string;
  readonly before: Exact | undefined;
  readonly after: Exact | undefined;
}

/** Where two values differ, member by member. */
export function differences(before: Exact | undefined, after: Exact | undefined, pointer = ''): Difference[] {
  if (isSame(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => differences(memberOf(before, name), memberOf(after, name), `${pointer}/${escaped(name)}`));
  }
  if (isList(before) && isList(after) && before.length === after.length) {
    return before.flatMap((item, i) => differences(item, after[i], `${pointer}/${i}`));
  }
  return [{ pointer, before, after }];
}
