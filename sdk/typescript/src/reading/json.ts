/**
 * Lossless reading and writing of JSON. Strict reading, for receipts, proof files and claims, gives each text one
 * meaning; the reading of answers keeps whole numbers that exceed a double.
 */

import { refuseUnless } from '../refused.js';

const TOKEN =
  /[\t\n\r ]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false|null)|$)/y;
const DEPTH_MAX = 64;
const HALF_CHARACTER = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Refuses a text with half of a surrogate pair: it has no UTF-8, and encoders replace it. */
export function wellFormed(text: string): string {
  refuseUnless(!HALF_CHARACTER.test(text), 'a text holds half a character');
  return text;
}

type Mark = '{' | '}' | '[' | ']' | ',' | ':';
type Token = { readonly mark: Mark } | { readonly value: unknown };

/** Conversion of numbers and texts. */
interface Rules {
  readonly depthMax: number;
  readonly number: (digits: string) => unknown;
  readonly text: (quoted: string) => string;
  readonly onDuplicate: (name: string) => void;
}

const STRICT: Rules = {
  depthMax: DEPTH_MAX,
  number(digits) {
    refuseUnless(/^[0-9]+$/.test(digits), `the number ${digits} has a sign, a fraction or an exponent`);
    return BigInt(digits);
  },
  text: (quoted) => wellFormed(JSON.parse(quoted) as string),
  onDuplicate: (name) => refuseUnless(false, `the member ${JSON.stringify(name)} occurs twice`),
};

const LOSSLESS: Rules = {
  depthMax: Number.POSITIVE_INFINITY,
  number(digits) {
    const number = Number(digits);
    return Number.isSafeInteger(number) || !/^-?[0-9]+$/.test(digits) ? number : BigInt(digits);
  },
  text: (quoted) => JSON.parse(quoted) as string,
  onDuplicate: () => {},
};

const EXACT: Rules = {
  // Answers show texts, each within the limit, some levels deep.
  depthMax: 2 * DEPTH_MAX,
  number: (digits) => (/^[0-9]+$/.test(digits) ? BigInt(digits) : new JsonText(digits)),
  text: STRICT.text,
  onDuplicate: STRICT.onDuplicate,
};

class Reader {
  readonly #token = new RegExp(TOKEN);

  constructor(
    readonly text: string,
    readonly rules: Rules,
  ) {}

  #next(): Token | null {
    const found = this.#token.exec(this.text);
    refuseUnless(found !== null, 'this is no JSON');
    const [, mark, quoted, digits, constant] = found;
    if (mark !== undefined) return { mark: mark as Mark };
    if (quoted !== undefined) return { value: this.rules.text(quoted) };
    if (digits !== undefined) return { value: this.rules.number(digits) };
    return constant === undefined ? null : { value: JSON.parse(constant) };
  }

  #value(token: Token | null, depth: number): unknown {
    refuseUnless(token !== null, 'the JSON is cut off');
    if ('value' in token) return token.value;
    refuseUnless(depth < this.rules.depthMax && (token.mark === '{' || token.mark === '['), 'this is no JSON, or too deep');
    return token.mark === '{' ? this.#object(depth) : this.#array(depth);
  }

  #isMark(token: Token | null, mark: Mark): boolean {
    return token !== null && 'mark' in token && token.mark === mark;
  }

  #object(depth: number): unknown {
    const object: Record<string, unknown> = {};
    let token = this.#next();
    if (this.#isMark(token, '}')) return object;
    for (;;) {
      refuseUnless(token !== null && 'value' in token && typeof token.value === 'string', 'this is no JSON: a name is missing');
      const name = token.value;
      refuseUnless(this.#isMark(this.#next(), ':'), 'this is no JSON: a colon is missing');
      if (Object.hasOwn(object, name)) this.rules.onDuplicate(name);
      const value = this.#value(this.#next(), depth + 1);
      // A plain assignment to __proto__ would set the prototype.
      Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
      token = this.#next();
      if (this.#isMark(token, '}')) return object;
      refuseUnless(this.#isMark(token, ','), 'this is no JSON: a comma is missing');
      token = this.#next();
    }
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    let token = this.#next();
    if (this.#isMark(token, ']')) return items;
    for (;;) {
      items.push(this.#value(token, depth + 1));
      token = this.#next();
      if (this.#isMark(token, ']')) return items;
      refuseUnless(this.#isMark(token, ','), 'this is no JSON: a comma is missing');
      token = this.#next();
    }
  }

  whole(): unknown {
    const value = this.#value(this.#next(), 0);
    refuseUnless(this.#token.lastIndex === this.text.length || this.#next() === null, 'something follows the JSON');
    return value;
  }
}

/**
 * Parses JSON with unique members and only whole, non-negative numbers, which become bigints. Refuses everything else,
 * so that all readers see the same file in one text.
 */
export const readStrictly = (text: string): unknown => new Reader(text, STRICT).whole();

/**
 * Parses any JSON with unique members, and keeps the spelling of numbers: whole ones become bigints, all others a
 * {@link JsonText}. Refuses everything else. {@link checkShown} compares such values exactly.
 */
export const readExactly = (text: string): unknown => new Reader(text, EXACT).whole();

/** A number of at least 16 digits; shorter ones never exceed 2^53. */
const LONG_DIGITS = /(?:^|[:,[\s])-?[0-9]{16}/;

/**
 * Parses any JSON. Whole numbers above 2^53 become bigints, so that none is rounded. Throws a SyntaxError for invalid
 * JSON.
 */
export function parseJson(text: string): unknown {
  const quick = JSON.parse(text) as unknown;
  return LONG_DIGITS.test(text) ? new Reader(text, LOSSLESS).whole() : quick;
}

/** Serialized JSON, which is sent and signed unchanged. */
export class JsonText {
  /** @param text the JSON, whose white space, escapes and spelling of numbers are kept */
  constructor(readonly text: string) {
    JSON.parse(text);
    // The signed text starts and ends with the value.
    this.text = text.trim();
  }
}

/** Writes compact JSON like `JSON.stringify`, with a bigint as digits and a {@link JsonText} unchanged. */
export function writeJson(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) throw new TypeError(`JSON cannot hold a ${typeof value}`);
    return text;
  }
  if (Array.isArray(value)) return `[${value.map((item) => writeJson(item ?? null)).join(',')}]`;
  const { toJSON } = value as { toJSON?: () => unknown };
  if (typeof toJSON === 'function') return writeJson(toJSON.call(value));
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${writeJson(member)}`);
  }
  return `{${members.join(',')}}`;
}
