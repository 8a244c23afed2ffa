/** Comparison of shown resources with their proven entries. */

import { Refused } from '../refused.js';
import { parseJson } from '../reading/json.js';
import type { StateFacts } from './state.js';
import type { ObjectEntry, StateEntry, TemplateEntry, VariationEntry } from './state-entries.js';
import { type StateTexts, StateMismatch, differingMembers } from './state-shown.js';

type ShownMembers = Readonly<Record<string, unknown>>;

/** Whether two values of JSON are equal. */
function isEqualJson(one: unknown, other: unknown): boolean {
  if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object') return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  const isIn = (name: string): boolean => Object.hasOwn(other, name) && isEqualJson((one as ShownMembers)[name], (other as ShownMembers)[name]);
  return names.length === Object.keys(other).length && names.every(isIn);
}

/** Whether a shown value is that of a proven text; null where the text is empty. */
function isTextOf(shown: unknown, text: string | undefined): boolean {
  if (text === undefined) return false;
  try {
    return isEqualJson(shown ?? null, text === '' ? null : parseJson(text));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
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

/** Members that a server of before the state had a root does not show. */
const LATER = ['serial', 'burned_count'];

function rulesDiffer(shown: unknown, entry: TemplateEntry, texts: StateTexts): boolean {
  if (!Array.isArray(shown) || shown.length !== entry.rules.length) return true;
  return entry.rules.some(({ kind, who }, i) => {
    const rule = shown[i] as { kind?: unknown; who?: unknown; schema?: unknown } | null;
    return rule?.kind !== kind || rule.who !== who || !isTextOf(rule.schema, texts.rules?.[i]);
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
 * @throws StateMismatch with the members that differ
 */
export function checkShown(item: object, { key, entry, texts }: StateFacts): void {
  const shown = item as ShownMembers;
  if (shown['id'] !== key) throw new StateMismatch(key, ['id']);
  if (entry === null) throw new Refused(`the server shows ${key}, and proves that the log has made nothing under it`);
  if (entry.type !== 'obj' && entry.type !== 'tpl' && entry.type !== 'var') throw new Refused(`${key} is no object, template or variation`);
  const proven = (PROVEN[entry.type] as (entry: StateEntry) => ShownMembers)(entry);
  const names = Object.keys(proven).filter((name) => Object.hasOwn(shown, name) || !LATER.includes(name));
  const only = (from: ShownMembers): ShownMembers => Object.fromEntries(names.filter((name) => Object.hasOwn(from, name)).map((name) => [name, from[name]]));
  const members = [...differingMembers(only(shown), only(proven)), ...differingTexts(shown, entry, texts)];
  if (members.length > 0) throw new StateMismatch(key, members);
}
