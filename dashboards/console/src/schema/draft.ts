/** What a form holds while it is edited, and the value that it stands for. */

import { JsonText } from '@kedge/sdk';
import { type Exact, type ExactObject, escaped, indentedExact, isList, isObject, isSame, memberOf, namesOf, readExact } from './exact';
import type { Shape } from './shape';

/** An item of a list; the key stays with it when others are removed. */
export interface DraftItem {
  readonly key: number;
  readonly draft: Draft;
}

/** The state of a field, or of a group of fields. */
export type Draft =
  /** `wasEmpty`: the stored text is empty, which is not the same as absent. */
  | { readonly kind: 'field'; readonly text: string; readonly wasEmpty?: boolean }
  | { readonly kind: 'json'; readonly text: string }
  /** `rest`: members that have no field, as JSON. */
  | { readonly kind: 'object'; readonly members: Readonly<Record<string, Draft>>; readonly rest: string; readonly isSet: boolean }
  | { readonly kind: 'list'; readonly items: readonly DraftItem[]; readonly isSet: boolean };

/** What is wrong at a place. */
export interface Wrong {
  readonly pointer: string;
  readonly message: string;
}

let keys = 0;

/** A new item of a list. */
export const itemOf = (shape: Shape, value?: Exact): DraftItem => ({ key: (keys += 1), draft: draftOf(shape, value) });

/** The draft of a value. A value that does not fit its shape is drafted as JSON. */
export function draftOf(shape: Shape, value: Exact | undefined): Draft {
  const asJson = (): Draft => ({ kind: 'json', text: value === undefined ? '' : indentedExact(value) });
  switch (shape.kind) {
    case 'text':
      return value === undefined || typeof value === 'string' ? { kind: 'field', text: value ?? '', wasEmpty: value === '' } : asJson();
    case 'number':
      return value === undefined || value instanceof JsonText ? { kind: 'field', text: value?.text ?? '' } : asJson();
    case 'boolean':
      return value === undefined || typeof value === 'boolean' ? { kind: 'field', text: value === undefined ? '' : String(value) } : asJson();
    case 'choice': {
      const index = shape.options.findIndex((option) => isSame(option.value, value));
      return value === undefined || index >= 0 ? { kind: 'field', text: index < 0 ? '' : String(index) } : asJson();
    }
    case 'object': {
      if (value !== undefined && !isObject(value)) return asJson();
      const members = shape.members.map(({ name, shape: of }) => [name, draftOf(of, memberOf(value ?? {}, name))] as const);
      const names = new Set(shape.members.map(({ name }) => name));
      const others = Object.entries(value ?? {}).filter(([name]) => !names.has(name));
      const rest = others.length === 0 ? '' : indentedExact(Object.fromEntries(others));
      return { kind: 'object', members: Object.fromEntries(members), rest, isSet: value !== undefined };
    }
    case 'list':
      if (value !== undefined && !isList(value)) return asJson();
      return { kind: 'list', items: (value ?? []).map((item) => itemOf(shape.item, item)), isSet: value !== undefined };
    case 'json':
      return asJson();
  }
}

const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

function readJson(text: string, pointer: string, onWrong: (wrong: Wrong) => void): Exact | undefined {
  if (text.trim() === '') return undefined;
  try {
    return readExact(text);
  } catch (error) {
    onWrong({ pointer, message: `This is no JSON: ${(error as Error).message}.` });
    return undefined;
  }
}

function fieldValue(shape: Shape, { text, wasEmpty }: Draft & { kind: 'field' }, isRequired: boolean, pointer: string, onWrong: (wrong: Wrong) => void): Exact | undefined {
  switch (shape.kind) {
    case 'text':
      return text === '' && wasEmpty !== true ? undefined : text;
    case 'number': {
      const digits = text.trim();
      if (digits === '') return undefined;
      if (NUMBER.test(digits)) return new JsonText(digits);
      onWrong({ pointer, message: shape.isWhole ? 'Write a whole number, such as 12.' : 'Write a number, such as 12 or 0.5.' });
      return undefined;
    }
    case 'boolean':
      return text === '' && !isRequired ? undefined : text === 'true';
    case 'choice':
      return text === '' ? undefined : shape.options[Number(text)]?.value;
    default:
      return undefined;
  }
}

/** The value of a draft; undefined if it has none. Texts that stand for no value are reported. */
export function valueOf(shape: Shape, draft: Draft, isRequired: boolean, onWrong: (wrong: Wrong) => void, pointer = ''): Exact | undefined {
  switch (draft.kind) {
    case 'field':
      return fieldValue(shape, draft, isRequired, pointer, onWrong);
    case 'json':
      return readJson(draft.text, pointer, onWrong);
    case 'list': {
      if (shape.kind !== 'list' || (draft.items.length === 0 && !draft.isSet && !isRequired)) return undefined;
      const { item } = shape;
      // An item that is left empty keeps its place, so that the places of the others are right.
      return draft.items.map(({ draft: one }, i) => valueOf(item, one, true, onWrong, `${pointer}/${i}`) ?? (item.kind === 'text' ? '' : null));
    }
    case 'object': {
      if (shape.kind !== 'object') return undefined;
      const rest = readJson(draft.rest, pointer, onWrong) ?? {};
      if (!isObject(rest)) onWrong({ pointer, message: 'The other properties must be a JSON object, such as {"gate": "D"}.' });
      const members = new Map<string, Exact>(isObject(rest) ? Object.entries(rest) : []);
      for (const { name, shape: of, isRequired: isNeeded } of shape.members) {
        const one = draft.members[name];
        const value = one === undefined ? undefined : valueOf(of, one, isNeeded, onWrong, `${pointer}/${escaped(name)}`);
        if (value !== undefined) members.set(name, value);
      }
      // A required tick is false before anything is filled in, which does not make an optional group present.
      const isAbsent = !draft.isSet && !isRequired && [...members.values()].every((value) => value === false);
      return isAbsent ? undefined : Object.fromEntries(members);
    }
  }
}

/** A value with the schema's defaults where it has nothing. */
export function filled(shape: Shape, value: Exact | undefined): Exact | undefined {
  if (value === undefined && Object.hasOwn(shape.schema, 'default')) return shape.schema['default'];
  if (value === undefined && Object.hasOwn(shape.schema, 'const')) return shape.schema['const'];
  if (shape.kind !== 'object' || (value !== undefined && !isObject(value))) return value;
  const members = new Map(Object.entries(value ?? {}));
  for (const { name, shape: of, isRequired } of shape.members) {
    const isFixed = Object.hasOwn(of.schema, 'const') && !isRequired;
    const member = isFixed ? members.get(name) : filled(of, members.get(name));
    if (member !== undefined) members.set(name, member);
  }
  return members.size === 0 ? value : Object.fromEntries(members);
}

/** Moves what is wrong to the nearest place that the form draws. */
export function placed(shape: Shape, draft: Draft, { pointer, message }: Wrong): Wrong {
  const names = namesOf(pointer);
  let at = '';
  let [of, one]: [Shape, Draft] = [shape, draft];
  while (names.length > 0) {
    const name = names[0] as string;
    const member = of.kind === 'object' && one.kind === 'object' ? of.members.find((known) => known.name === name) : undefined;
    const inner = one.kind === 'object' ? one.members[name] : one.kind === 'list' ? one.items[Number(name)]?.draft : undefined;
    const next = of.kind === 'list' ? of.item : member?.shape;
    if (inner === undefined || next === undefined) break;
    [of, one] = [next, inner];
    at += `/${escaped(name)}`;
    names.shift();
  }
  return { pointer: at, message: names.length === 0 ? message : `${names.join(' › ')}: ${message}` };
}

/** The value of a draft of an object. */
export function objectValue(shape: Shape & { kind: 'object' }, draft: Draft, onWrong: (wrong: Wrong) => void): ExactObject {
  const value = valueOf(shape, draft, true, onWrong);
  return isObject(value) ? value : {};
}
