/** Compact tables: one line a record on every screen. A narrow one leaves out the columns that are `wide`. */

import type { ComponentChildren } from 'preact';
import { type CopyState, useCopying } from '../copying';
import { pageOf } from './text';

/** A column of a compact table. */
export interface RowColumn<T> {
  readonly name: string;
  readonly show: (item: T, place: number) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Whether a narrow screen leaves it out. */
  readonly isWide?: boolean;
}

const classOf = ({ isNumber, isWide }: RowColumn<never>): string => [isNumber ? 'number' : '', isWide ? 'wide' : ''].filter((name) => name !== '').join(' ');

/** Records as a compact table. */
export function Rows<T>({
  label,
  columns,
  items,
  keyOf,
  under,
}: {
  label: string;
  columns: readonly RowColumn<T>[];
  items: readonly T[];
  keyOf: (item: T) => string;
  /** What is shown under a record, over all columns. */
  under?: (item: T) => ComponentChildren;
}) {
  if (items.length === 0) return null;
  return (
    <div class="rows" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column as RowColumn<never>)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, place) => {
            const more = under?.(item);
            const line = (
              <tr key={keyOf(item)}>
                {columns.map((column) => (
                  <td key={column.name} class={classOf(column as RowColumn<never>)}>
                    {column.show(item, place)}
                  </td>
                ))}
              </tr>
            );
            if (more == null) return line;
            return [
              line,
              <tr key={`${keyOf(item)} more`} class="under">
                <td colSpan={columns.length}>{more}</td>
              </tr>,
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}

const WORDS: Record<CopyState, string> = { '': 'Copy', copied: 'Copied', failed: 'Not copied' };

/** An id or a hash in a line: its beginning and end, linked to its page if it has one, and a button that copies all. */
export function Short({ value, what, isLinked = true }: { value: string; what: string; isLinked?: boolean }) {
  const [state, copy] = useCopying(value);
  const page = isLinked ? pageOf(value) : null;
  const text = value.length > 16 ? `${value.slice(0, 10)}…${value.slice(-4)}` : value;
  return (
    <span class="short">
      {page === null ? (
        <span class="mono" title={value}>
          {text}
        </span>
      ) : (
        <a class="mono" href={page} title={value}>
          {text}
        </a>
      )}
      <button type="button" class={`icon ${state}`} onClick={copy} aria-label={state === '' ? `Copy ${what}` : WORDS[state]} title={WORDS[state]}>
        <svg aria-hidden="true" viewBox="0 0 16 16" width="14" height="14">
          {state === 'copied' ? <path d="M3 8.5l3.2 3.2L13 5" /> : state === 'failed' ? <path d="M4 4l8 8M12 4l-8 8" /> : <path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" />}
        </svg>
      </button>
    </span>
  );
}
