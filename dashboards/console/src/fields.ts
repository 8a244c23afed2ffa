/** What the fields of a form hold. */

import { JsonText } from '@kedge/sdk';

/** The text of a field, without white space around it; null if it is empty. */
export function textOf(form: FormData, name: string): string | null {
  const text = String(form.get(name) ?? '').trim();
  return text === '' ? null : text;
}

/** The text of a field that must not be empty. */
export function neededOf(form: FormData, name: string, label: string): string {
  const text = textOf(form, name);
  if (text === null) throw new Error(`Fill in the field “${label}”.`);
  return text;
}

/** The JSON object of a field as it is spelled, so that no number is rounded; null if the field is empty. */
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
