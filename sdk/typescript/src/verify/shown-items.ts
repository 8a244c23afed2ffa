/** Comparison of shown resources with their proven entries. */

import { Refused, refuseUnless } from '../refused.js';
import { JsonText, readExactly } from '../reading/json.js';
import type { StateFacts } from './state.js';
import type { ObjectEntry, StateEntry, TemplateEntry, VariationEntry } from './state-entries.js';
import { type StateTexts, StateMismatch, differingMembers } from './state-shown.js';

type ShownMembers = Readonly<Record<string, unknown>>;

/** Whether a shown number is the proven one. A number of parsed JSON is rounded, and is compared as it is. */
function isEqualNumber(shown: unknown, proven: bigint | JsonText): boolean {
  const digits = proven instanceof JsonText ? proven.text : proven.toString();
  if (shown instanceof JsonText) return shown.text === digits;
  if (typeof shown === 'bigint') return shown.toString() === digits;
  if (typeof shown !== 'number') return false;
  return proven instanceof JsonText ? shown === Number(digits) : Number.isSafeInteger(shown) && BigInt(shown) === proven;
}

/** Whether a shown value of JSON is the proven one, which {@link readExactly} has read. */
function isEqualJson(shown: unknown, proven: unknown): boolean {
  if (typeof proven === 'bigint' || proven instanceof JsonText) return isEqualNumber(shown, proven);
  if (shown === null || proven === null || typeof shown !== 'object' || typeof proven !== 'object') return shown === proven;
  if (shown instanceof JsonText || Array.isArray(shown) !== Array.isArray(proven)) return false;
  const names = Object.keys(shown);
  const isIn = (name: string): boolean => Object.hasOwn(proven, name) && isEqualJson((shown as ShownMembers)[name], (proven as ShownMembers)[name]);
  return names.length === Object.keys(proven).length && names.every(isIn);
}

/** Whether a shown value is that of a proven text; null where the text is empty. */
function isTextOf(shown: unknown, text: string | undefined): boolean {
  if (text === undefined) return false;
  try {
    return isEqualJson(shown ?? null, text === '' ? null : readExactly(text));
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

/** Shown members that an entry holds under the same meaning, by their name in the answer. */
const PROVEN: { readonly [Type in 'obj' | 'tpl' | 'var']: (entry: Extract<StateEntry, { type: Type }>) => ShownMembers } = {
  obj: (entry: ObjectEntry) => ({
    organization_id: entry.organization_id,
    template_id: entry.template_id,
    variation_id: entry.variation_id,
    serial: entry.serial,
    owner_id: entry.owner_id,
    owner_address: entry.owner_address,
    status: entry.status,
    version: entry.version,
    sequence: entry.sequence,
    integrity_hash: entry.integrity,
  }),
  tpl: (entry: TemplateEntry) => ({
    organization_id: entry.organization_id,
    public_access: entry.public_access,
    max_supply: entry.max_supply,
    minted_count: entry.minted_count,
    burned_count: entry.burned_count,
    variation_count: entry.variation_count,
    version: entry.version,
    sequence: entry.sequence,
    integrity_hash: entry.integrity,
  }),
  var: (entry: VariationEntry) => ({ organization_id: entry.organization_id, template_id: entry.template_id, index: entry.index }),
};

/** Members of a template's rule. */
const RULE = ['kind', 'who', 'schema'];

function rulesDiffer(shown: unknown, entry: TemplateEntry, texts: StateTexts): boolean {
  if (!Array.isArray(shown) || shown.length !== entry.rules.length) return true;
  return entry.rules.some(({ kind, who }, i) => {
    const rule = shown[i] as { kind?: unknown; who?: unknown; schema?: unknown } | null;
    if (rule?.kind !== kind || rule.who !== who || !isTextOf(rule.schema, texts.rules?.[i])) return true;
    return !Object.keys(rule).every((name) => RULE.includes(name));
  });
}

/** Members whose texts are hashed in the entry, and that differ from them or have no proven text. */
function differingTexts(item: ShownMembers, entry: StateEntry, texts: StateTexts): string[] {
  const wrong: string[] = [];
  if (!isTextOf(item['properties'], texts.properties)) wrong.push('properties');
  if (entry.type === 'var' && (texts.name === undefined || item['name'] !== texts.name)) wrong.push('name');
  if (entry.type !== 'tpl') return wrong;
  if (!isTextOf(item['schema'], texts.schema)) wrong.push('schema');
  if (rulesDiffer(item['actions'], entry, texts)) wrong.push('actions');
  return wrong;
}

/**
 * Compares a shown object, template or variation with its proven entry and texts. Times of creation and change, a
 * template's name and its description are not in an entry. The client does this for what it reads with `prove`.
 *
 * @param item the JSON text of the item, in which no member may occur twice and numbers are compared as they are spelled;
 * a value of {@link readExactly} likewise; or parsed JSON, whose numbers may be rounded
 * @throws StateMismatch with the members that differ
 */
export function checkShown(item: string | object, { key, entry, texts }: StateFacts): void {
  const shown = (typeof item === 'string' ? readExactly(item) : item) as ShownMembers | null;
  refuseUnless(shown !== null && typeof shown === 'object', 'the item is no object');
  if (shown['id'] !== key) throw new StateMismatch(key, ['id']);
  if (entry === null) throw new Refused(`the server shows ${key}, and proves that the log has made nothing under it`);
  if (entry.type !== 'obj' && entry.type !== 'tpl' && entry.type !== 'var') throw new Refused(`${key} is no object, template or variation`);
  const proven = (PROVEN[entry.type] as (entry: StateEntry) => ShownMembers)(entry);
  const names = Object.keys(proven).filter((name) => Object.hasOwn(shown, name));
  const stated = Object.fromEntries(names.map((name) => [name, shown[name]]));
  const members = [...differingMembers(stated, proven), ...differingTexts(shown, entry, texts)];
  if (members.length > 0) throw new StateMismatch(key, members);
}
