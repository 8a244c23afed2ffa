/** The state of a form that a schema draws. */

import { ServerError } from '@kedge/sdk';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { wrongOf } from './check';
import { type Draft, type Wrong, draftOf, objectValue, placed } from './draft';
import { type ExactObject, indentedExact, isObject, readExact } from './exact';
import type { Shape } from './shape';

/** The messages at each pointer. */
export type Wrongs = ReadonlyMap<string, readonly string[]>;

/** A form's state, and what to do with it. */
export interface SchemaForm {
  readonly shape: Shape & { kind: 'object' };
  readonly draft: Draft;
  /** The whole as JSON, if the user wants to edit that; otherwise null. */
  readonly text: string | null;
  readonly wrongs: Wrongs;
  /** The element that holds the fields, in which the first wrong one gets the focus. */
  readonly place: { current: HTMLDivElement | null };
  readonly change: (draft: Draft) => void;
  readonly write: (text: string) => void;
  /** Shows the whole as JSON, or fields again. */
  readonly turn: () => void;
  /** Begins again with a value. */
  readonly begin: (value: ExactObject) => void;
  /** The value. Throws if something is wrong with it, and shows what at the fields. */
  readonly read: () => ExactObject;
  /** Shows messages at their fields. Throws an error that says how many there are. */
  readonly refuse: (wrongs: readonly Wrong[]) => never;
  /** Shows the messages of a refusal at their fields. Throws the error that is left to be shown. */
  readonly refused: (error: unknown, prefix: string) => never;
}

const NONE: Wrongs = new Map();

function grouped(wrongs: readonly Wrong[]): Wrongs {
  const groups = new Map<string, string[]>();
  for (const { pointer, message } of wrongs) {
    const messages = groups.get(pointer) ?? [];
    if (!messages.includes(message)) groups.set(pointer, [...messages, message]);
  }
  return groups;
}

const counted = (count: number): string => (count === 1 ? 'One field needs a change' : `${count} fields need a change`);

/** A message of the server as a sentence. */
const sentence = (text: string): string => {
  const words = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(words) ? words : `${words}.`;
};

/** A form for the properties that a schema describes. */
export function useSchemaForm(shape: Shape & { kind: 'object' }, start: ExactObject): SchemaForm {
  const [{ draft, text, wrongs }, setState] = useState<{ draft: Draft; text: string | null; wrongs: Wrongs }>(() => ({
    draft: draftOf(shape, start),
    text: null,
    wrongs: NONE,
  }));
  const place = useRef<HTMLDivElement>(null);
  const isRefused = useRef(false);
  useLayoutEffect(() => {
    if (!isRefused.current) return;
    isRefused.current = false;
    place.current?.querySelector<HTMLElement>('[aria-invalid=true], [data-wrong]')?.focus();
  }, [wrongs]);

  const refuse = (found: readonly Wrong[]): never => {
    const all = grouped(found.map((wrong) => (text === null ? placed(shape, draft, wrong) : wrong)));
    isRefused.current = true;
    setState((old) => ({ ...old, wrongs: all }));
    throw new Error(`${counted(all.size)}: what to do is written there.`);
  };
  const readText = (written: string): ExactObject => {
    try {
      const value = readExact(written);
      if (isObject(value)) return value;
    } catch (error) {
      return refuse([{ pointer: '', message: `This is no JSON: ${(error as Error).message}.` }]);
    }
    return refuse([{ pointer: '', message: 'Write a JSON object, such as {"seat": 1}.' }]);
  };
  const read = (): ExactObject => {
    const found: Wrong[] = [];
    const value = text === null ? objectValue(shape, draft, (wrong) => found.push(wrong)) : readText(text);
    const unread = new Set(found.map(({ pointer }) => pointer));
    for (const wrong of wrongOf(shape, value)) if (!unread.has(wrong.pointer)) found.push(wrong);
    if (found.length > 0) refuse(found);
    setState((old) => ({ ...old, wrongs: NONE }));
    return value;
  };
  const refused = (error: unknown, prefix: string): never => {
    if (!(error instanceof ServerError) || error.body.errors === undefined) throw error;
    const isHere = ({ pointer }: { pointer: string }): boolean => pointer === prefix || pointer.startsWith(`${prefix}/`);
    const found = error.body.errors.filter(isHere);
    if (found.length === 0) throw error;
    const others = error.body.errors.filter((wrong) => !isHere(wrong));
    const wrongs = found.map(({ pointer, message }) => ({ pointer: pointer.slice(prefix.length), message: sentence(message) }));
    if (others.length === 0) return refuse(wrongs);
    try {
      return refuse(wrongs);
    } catch (summary) {
      const message = (summary as Error).message;
      throw new ServerError(error.status, error.code, { ...error.body, message, errors: others }, error.headers);
    }
  };
  const turn = (): void => {
    if (text !== null) {
      const value = readText(text);
      setState({ draft: draftOf(shape, value), text: null, wrongs: NONE });
      return;
    }
    const found: Wrong[] = [];
    const value = objectValue(shape, draft, (wrong) => found.push(wrong));
    if (found.length > 0) refuse(found);
    setState((old) => ({ ...old, text: indentedExact(value), wrongs: NONE }));
  };
  return {
    shape,
    draft,
    text,
    wrongs,
    place,
    change: (next) => setState((old) => ({ ...old, draft: next })),
    write: (next) => setState((old) => ({ ...old, text: next })),
    turn,
    begin: (value) => setState({ draft: draftOf(shape, value), text: null, wrongs: NONE }),
    read,
    refuse,
    refused,
  };
}
