/** Searches for objects, from form fields. */

import type { Schemas } from '@kedge/sdk';
import { textOf } from './fields';

type Filter = Schemas['Filter'];

/** Comparisons of a search, with their names on the page. */
export const OPERATORS = [
  ['eq', 'is'],
  ['ne', 'is not'],
  ['gt', 'is above'],
  ['gte', 'is at least'],
  ['lt', 'is below'],
  ['lte', 'is at most'],
  ['prefix', 'begins with'],
  ['contains', 'contains'],
  ['exists', 'exists'],
] as const;

/** Value of a text: numbers, true, false and null as such, anything else as a text. */
function valueOf(text: string): unknown {
  if (/^-?[0-9]+$/.test(text) && !Number.isSafeInteger(Number(text))) return BigInt(text);
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value !== 'object') return value;
  } catch {
    // Not JSON: a text without quotes.
  }
  return text;
}

/** Filter from the form; null if there is none. */
export function filterOf(form: FormData): Filter | null {
  const filters: Filter[] = [];
  const template = textOf(form, 'template_id');
  if (template !== null) filters.push({ field: 'template_id', op: 'eq', value: template });
  const status = textOf(form, 'status');
  if (status !== null) filters.push({ field: 'status', op: 'eq', value: status });
  const property = textOf(form, 'property');
  if (property !== null) {
    const op = String(form.get('op')) as 'eq';
    const text = textOf(form, 'value') ?? '';
    const value = op === ('exists' as string) ? text !== 'false' : valueOf(text);
    filters.push({ field: `properties.${property}`, op, value });
  }
  return filters.length === 0 ? null : { and: filters };
}
