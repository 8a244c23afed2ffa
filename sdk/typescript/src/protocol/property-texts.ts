/**
 * Texts of properties: the exact JSON that an action makes from the JSON before it, so that all readers hash the same
 * bytes. Each function takes time linear in its inputs.
 */

import { wellFormed } from '../reading/json.js';
import { Refused, refuseUnless } from '../refused.js';

/** Nesting of arrays and objects, as in requests. */
const DEPTH_MAX = 64;

/** The index after a JSON string that starts at an index. A loop, because a pattern overflows on long strings. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

const isSpace = (unit: string | undefined): boolean => unit === ' ' || unit === '\t' || unit === '\n' || unit === '\r';

/** Removes white space outside of strings, and changes nothing else. Refuses what is no JSON. */
export function tidyText(text: string): string {
  try {
    JSON.parse(wellFormed(text));
  } catch (error) {
    throw error instanceof Refused ? error : new Refused('the text is no JSON');
  }
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') at = stringEnd(text, at);
    else if (isSpace(text[at])) {
      parts.push(text.slice(start, at));
      while (isSpace(text[at])) at += 1;
      start = at;
    } else at += 1;
  }
  return parts.join('') + text.slice(start);
}

/** A value of a tidied text: where it stands, and the members of an object. */
interface TextSpan {
  readonly start: number;
  end: number;
  readonly members: Map<string, TextSpan> | null;
}

/** A tidied JSON object, and where the values of its objects stand. */
interface ParsedText {
  readonly text: string;
  readonly root: TextSpan;
}

/** Reads the spans of a tidied text, which is known to be JSON, without recursion. */
class SpanReader {
  readonly #open: TextSpan[] = [];
  /** A name whose value follows, in the innermost open object. */
  #name: string | null = null;
  #root: TextSpan | null = null;

  constructor(readonly text: string) {}

  #begin(start: number, members: Map<string, TextSpan> | null): TextSpan {
    const span = { start, end: start, members };
    const parent = this.#open.at(-1);
    if (parent === undefined) this.#root = span;
    else if (parent.members !== null) {
      const name = this.#name as string;
      refuseUnless(!parent.members.has(name), `the member ${JSON.stringify(name)} occurs twice`);
      parent.members.set(name, span);
    }
    this.#name = null;
    return span;
  }

  /** Reads a name, or a value that is no array or object. Returns the index after it. */
  #scalar(at: number): number {
    const { text } = this;
    let end = at;
    if (text[at] === '"') end = stringEnd(text, at);
    else while (!',}]'.includes(text[end] as string)) end += 1;
    if (text[end] === ':') {
      this.#name = wellFormed(JSON.parse(text.slice(at, end)) as string);
      return end + 1;
    }
    this.#begin(at, null).end = end;
    return end;
  }

  read(): ParsedText {
    const { text } = this;
    refuseUnless(text.startsWith('{'), 'the text is no JSON object');
    for (let at = 0; at < text.length; ) {
      const unit = text[at] as string;
      if (unit === '{' || unit === '[') {
        this.#open.push(this.#begin(at, unit === '{' ? new Map() : null));
        refuseUnless(this.#open.length <= DEPTH_MAX, `the text is nested more than ${DEPTH_MAX} deep`);
      } else if (unit === '}' || unit === ']') {
        (this.#open.pop() as TextSpan).end = at + 1;
      } else if (unit !== ',') {
        at = this.#scalar(at);
        continue;
      }
      at += 1;
    }
    return { text, root: this.#root as TextSpan };
  }
}

const parsed = (text: string): ParsedText => new SpanReader(tidyText(text)).read();
const membersOf = ({ root }: ParsedText): Map<string, TextSpan> => root.members as Map<string, TextSpan>;
const sliceOf = ({ text }: ParsedText, { start, end }: TextSpan): string => text.slice(start, end);
const objectText = (members: readonly string[]): string => `{${members.join(',')}}`;

const SHORT_ESCAPES: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' };
const ESCAPED = /["\\\u0000-\u001f]/g;

/** A member's name, decoded and written again in its only form. */
const nameText = (name: string): string =>
  `"${wellFormed(name).replace(ESCAPED, (unit) => SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`;

const NOTHING: ReadonlyMap<string, TextSpan> = new Map();

/** Writes an object of a text, merged with an object of a patch, to at most the depth of the patch. */
class TextMerger {
  readonly #parts: string[] = [];

  constructor(
    readonly text: ParsedText,
    readonly patch: ParsedText,
  ) {}

  #name(name: string): void {
    this.#parts.push(this.#parts.at(-1) === '{' ? '' : ',', nameText(name), ':');
  }

  #change(name: string, before: TextSpan | undefined, after: TextSpan): void {
    if (after.members !== null) {
      this.#name(name);
      this.#object(before?.members ?? NOTHING, after.members);
    } else if (sliceOf(this.patch, after) !== 'null') {
      this.#name(name);
      this.#parts.push(sliceOf(this.patch, after));
    }
  }

  #object(old: ReadonlyMap<string, TextSpan>, changes: ReadonlyMap<string, TextSpan>): void {
    this.#parts.push('{');
    for (const [name, span] of old) {
      const change = changes.get(name);
      if (change !== undefined) this.#change(name, span, change);
      else {
        this.#name(name);
        this.#parts.push(sliceOf(this.text, span));
      }
    }
    for (const [name, change] of changes) if (!old.has(name)) this.#change(name, undefined, change);
    this.#parts.push('}');
  }

  merged(): string {
    this.#object(membersOf(this.text), membersOf(this.patch));
    return this.#parts.join('');
  }
}

/** The text after a patch is merged over a text (RFC 7396): the action `update`, and each layer of a mint. */
export function mergeTexts(text: string, patch: string): string {
  return new TextMerger(parsed(text), parsed(patch)).merged();
}

/** The text after `set_attributes`: members of the top level replaced in their places, new ones last. */
export function setAttributes(text: string, changes: readonly (readonly [name: string, value: string])[]): string {
  const old = parsed(text);
  const values = new Map(changes.map(([name, value]) => [name, tidyText(value)]));
  refuseUnless(values.size === changes.length, 'an attribute is set twice');
  const members: string[] = [];
  for (const [name, span] of membersOf(old)) {
    members.push(`${nameText(name)}:${values.get(name) ?? sliceOf(old, span)}`);
    values.delete(name);
  }
  for (const [name, value] of values) members.push(`${nameText(name)}:${value}`);
  return objectText(members);
}

/** The text after `delete_attributes`: without these members of the top level. */
export function deleteAttributes(text: string, names: readonly string[]): string {
  const old = parsed(text);
  const gone = new Set(names);
  const kept = [...membersOf(old)].filter(([name]) => !gone.has(name));
  return objectText(kept.map(([name, span]) => `${nameText(name)}:${sliceOf(old, span)}`));
}

/** Texts from which a mint makes an object's properties. */
export interface MintTexts {
  /** Properties of the template. */
  readonly template: string;
  /** Properties of the variation; null if the mint names none. */
  readonly variation: string | null;
  /** Properties of the mint itself; null if it has none. */
  readonly own: string | null;
}

/** The text of a minted object's properties. */
export function mintedText({ template, variation, own }: MintTexts): string {
  let text = tidyText(template);
  if (variation !== null) text = mergeTexts(text, variation);
  if (own !== null && tidyText(own) !== '{}') text = mergeTexts(text, own);
  return text;
}
