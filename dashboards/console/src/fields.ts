/** Values of form fields. */

import { JsonText } from '@kedge/sdk';

/** Text of a field, trimmed; null if it is empty. */
export function textOf(form: FormData, name: string): string | null {
  const text = String(form.get(name) ?? '').trim();
  return text === '' ? null : text;
}

/** Text of a required field. */
export function neededOf(form: FormData, name: string, label: string): string {
  const text = textOf(form, name);
  if (text === null) throw new Error(`Fill in the field “${label}”.`);
  return text;
}

/** JSON object of a field in its original spelling, so that no number is rounded; null if the field is empty. */
export function objectOf(form: FormData, name: string, label: string): JsonText | null {
  const text = textOf(form, name);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return new JsonText(text);
  } catch (error) {
    throw new Error(`The field “${label}” is no JSON: ${(error as Error).message}.`);
  }
  throw new Error(`The field “${label}” must hold a JSON object, such as {"seat": 1}.`);
}
