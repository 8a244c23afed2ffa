/**
 * Checks of a value against what a form draws of its schema, with what to do in words. The server checks the rest.
 * Patterns are left to it: a hostile one can take the browser's engine for ever, but not the server's.
 */

import { JsonText, writeJson } from '@kedge/sdk';
import type { Wrong } from './draft';
import { type Exact, type ExactObject, escaped, isList, isObject, isSame, memberOf } from './exact';
import { type Shape, countOf } from './shape';

/** Less than 0 if `a` is less than `b`, exactly for whole numbers. */
function compared(a: string, b: string): number {
  const areWhole = [a, b].every((text) => /^-?[0-9]+$/.test(text));
  if (!areWhole) return Number(a) - Number(b);
  const difference = BigInt(a) - BigInt(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

const characters = (count: number): string => (count === 1 ? '1 character' : `${count} characters`);
const entries = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`);

function* ofNumber(text: string, schema: ExactObject, isWhole: boolean): Generator<string> {
  if (isWhole && !/^-?[0-9]+$/.test(text) && !Number.isInteger(Number(text))) yield 'Write a whole number, such as 12.';
  const bound = (keyword: string): string | null => {
    const value = memberOf(schema, keyword);
    return value instanceof JsonText ? value.text : null;
  };
  const [least, most, above, below] = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map(bound);
  if (least != null && compared(text, least) < 0) yield `Must be at least ${least}.`;
  if (most != null && compared(text, most) > 0) yield `Must be at most ${most}.`;
  if (above != null && compared(text, above) <= 0) yield `Must be more than ${above}.`;
  if (below != null && compared(text, below) >= 0) yield `Must be less than ${below}.`;
}

function* ofText(text: string, schema: ExactObject): Generator<string> {
  const [least, most] = [countOf(memberOf(schema, 'minLength')), countOf(memberOf(schema, 'maxLength'))];
  const length = [...text].length;
  if (least !== null && length < least) yield `Must have at least ${characters(least)}; it has ${length}.`;
  if (most !== null && length > most) yield `Must have at most ${characters(most)}; it has ${length}.`;
}

function* ofList(items: readonly Exact[], schema: ExactObject): Generator<string> {
  const [least, most] = [countOf(memberOf(schema, 'minItems')), countOf(memberOf(schema, 'maxItems'))];
  if (least !== null && items.length < least) yield `Needs at least ${entries(least)}.`;
  if (most !== null && items.length > most) yield `May have at most ${entries(most)}.`;
  if (memberOf(schema, 'uniqueItems') === true && items.some((item, i) => items.slice(0, i).some((other) => isSame(item, other)))) {
    yield 'No entry may be there twice.';
  }
}

const NEEDED: Partial<Record<Shape['kind'], string>> = {
  text: 'Must be a text.',
  number: 'Must be a number.',
  boolean: 'Must be true or false.',
  object: 'Must be an object.',
  list: 'Must be a list.',
};

function kindOf(value: Exact): Shape['kind'] | null {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  if (value instanceof JsonText) return 'number';
  return value === null ? null : isList(value) ? 'list' : 'object';
}

/** Whether the schema allows null next to its type. */
const allowsNull = ({ schema }: Shape): boolean => {
  const type = memberOf(schema, 'type');
  return isList(type) && type.includes('null');
};

/** What is wrong with a value. */
export function* wrongOf(shape: Shape, value: Exact, pointer = ''): Generator<Wrong> {
  const at = function* (messages: Iterable<string>): Generator<Wrong> {
    for (const message of messages) yield { pointer, message };
  };
  if (shape.kind === 'json' || (value === null && allowsNull(shape))) return;
  if (shape.kind === 'choice') {
    if (!shape.options.some((option) => isSame(option.value, value))) yield* at([`Must be one of: ${shape.options.map(({ label }) => label).join(', ')}.`]);
    return;
  }
  if (kindOf(value) !== shape.kind) return yield* at([NEEDED[shape.kind] as string]);
  if (value instanceof JsonText) {
    if (shape.kind === 'number') yield* at(ofNumber(value.text, shape.schema, shape.isWhole));
  } else if (typeof value === 'string') {
    if (shape.kind === 'text') yield* at(ofText(value, shape.schema));
  } else if (isList(value)) {
    if (shape.kind !== 'list') return;
    yield* at(ofList(value, shape.schema));
    for (const [i, item] of value.entries()) {
      const isEmpty = item === null && shape.item.kind !== 'json' && !allowsNull(shape.item);
      if (isEmpty) yield { pointer: `${pointer}/${i}`, message: 'Fill this in, or remove it.' };
      else yield* wrongOf(shape.item, item, `${pointer}/${i}`);
    }
  } else if (isObject(value) && shape.kind === 'object') {
    for (const { name, isRequired, shape: of } of shape.members) {
      const member = memberOf(value, name);
      if (member !== undefined) yield* wrongOf(of, member, `${pointer}/${escaped(name)}`);
      else if (isRequired) yield { pointer: `${pointer}/${escaped(name)}`, message: of.kind === 'choice' ? 'Choose one.' : 'Fill this in.' };
    }
    if (shape.isOpen) return;
    for (const name of Object.keys(value)) {
      if (!shape.members.some((known) => known.name === name)) yield { pointer, message: `The schema knows no property ${writeJson(name)}: remove it.` };
    }
  }
}
