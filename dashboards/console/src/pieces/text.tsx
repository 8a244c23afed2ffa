/**
 * Values as text. Tenants' texts are always text nodes in an isolated run (`bdi`): never markup or link targets, and
 * their direction does not spill over.
 */

import { writeJson } from '@kedge/sdk';
import type { ComponentChildren } from 'preact';
import { useCopying } from '../copying';

/** A tenant's text. */
export const Stored = ({ text }: { text: string }) => <bdi class="stored">{text}</bdi>;

const PAGES: Record<string, string> = {
  act: 'actions',
  anc: 'anchors',
  bat: 'batches',
  dsp: 'disputes',
  fil: 'files',
  obj: 'objects',
  tpl: 'templates',
  whk: 'webhooks',
};

/** Whether a text has the form of an id. */
export const isId = (text: string): boolean => /^[a-z]{3}_[0-9a-z]{26}$/.test(text);

/** Path of the page for an id, if there is one. */
export function pageOf(id: string): string | null {
  const page = isId(id) ? PAGES[id.slice(0, 3)] : undefined;
  return page === undefined ? null : `#/${page}/${id}`;
}

/** Beginning and end of an id or a hash, enough to recognise it. */
export const shortened = (text: string): string => (text.length > 22 ? `${text.slice(0, 12)}…${text.slice(-6)}` : text);

/** An id, linked to its page. */
export function Ref({ id }: { id: string }) {
  const page = pageOf(id);
  if (page === null) return <Hash value={id} />;
  return (
    <a class="mono" href={page} title={id}>
      {shortened(id)}
    </a>
  );
}

/** A button that copies a text. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [state, copy] = useCopying(text);
  return (
    <button type="button" class="small" onClick={copy} aria-label={`Copy ${what}`}>
      {state === 'copied' ? 'Copied' : state === 'failed' ? 'Not copied' : 'Copy'}
    </button>
  );
}

/** A hash, an address or an id without a page: shortened, with the whole value as its title. */
export function Hash({ value, whole = false }: { value: string; whole?: boolean }) {
  return (
    <span class={whole ? 'mono whole' : 'mono'} title={value}>
      {whole ? value : shortened(value)}
    </span>
  );
}

/** A time of the server, in the reader's time zone. */
export function Time({ at }: { at: string | number | null | undefined }) {
  if (at == null) return <span class="faint">never</span>;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <Stored text={String(at)} />;
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })}
    </time>
  );
}

/** A whole number with separators. */
export const Count = ({ of }: { of: number | bigint | string }) => <span class="number">{BigInt(of).toLocaleString()}</span>;

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** A number of bytes in a suitable unit, with the exact number as its title. */
export function Bytes({ of }: { of: number }) {
  const power = of < 1 ? 0 : Math.min(Math.floor(Math.log2(of) / 10), UNITS.length - 1);
  const value = of / 1024 ** power;
  const text = value.toLocaleString(undefined, { maximumFractionDigits: power === 0 ? 0 : 1 });
  return (
    <span class="number" title={`${of.toLocaleString()} bytes`}>
      {text} {UNITS[power]}
    </span>
  );
}

/** `JSON.rawJSON`, in browsers that have it, for writing a bigint as digits. */
const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };

/** Indented JSON without rounded numbers; compact text in browsers that cannot write a bigint. */
function indented(value: unknown): string {
  const digits = (_: string, member: unknown): unknown => (typeof member === 'bigint' && rawJSON ? rawJSON(member.toString()) : member);
  try {
    return JSON.stringify(value, digits, 2);
  } catch {
    return writeJson(value);
  }
}

/** JSON as text. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {indented(value ?? null)}
    </pre>
  );
}

/** A state as a coloured word. */
export function State({ of }: { of: string }) {
  return <span class={`state ${/^[a-z_]+$/.test(of) ? of : ''}`}>{of.replaceAll('_', ' ')}</span>;
}

/** A name and its value. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Names and values. */
export const Facts = ({ children }: { children: ComponentChildren }) => <dl class="facts">{children}</dl>;
