/** Lists as tables. On a narrow screen each row becomes a card. */

import type { ComponentChildren } from 'preact';
import type { Paging } from '../loading';
import { Fault } from './notices';

/** A column: its heading, and its content for a record. */
export interface Column<T> {
  readonly name: string;
  readonly show: (item: T) => ComponentChildren;
  readonly isNumber?: boolean;
}

/** Records as a table. */
export function Table<T>({ label, columns, items, keyOf }: { label: string; columns: readonly Column<T>[]; items: readonly T[]; keyOf: (item: T) => string }) {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ name, isNumber }) => (
              <th key={name} scope="col" class={isNumber ? 'number' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)}>
              {columns.map(({ name, show, isNumber }) => (
                <td key={name} data-name={name} class={isNumber ? 'number' : ''}>
                  <div>{show(item)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** End of a list: loading state, and a button for more. */
export function MoreOf({ of, none }: { of: Paging<unknown>; none: ComponentChildren }) {
  return (
    <>
      <Fault error={of.error} />
      {of.isBusy ? <p class="faint">Reading…</p> : null}
      {!of.isBusy && of.error === null && of.items.length === 0 ? <p class="empty">{none}</p> : null}
      <div class="row">
        {of.hasMore ? (
          <button type="button" onClick={of.more} disabled={of.isBusy}>
            More
          </button>
        ) : null}
        {of.error !== null ? (
          <button type="button" onClick={of.reload}>
            Try again
          </button>
        ) : null}
      </div>
    </>
  );
}

/** A paged list. */
export function List<T>({
  of,
  none,
  ...table
}: {
  of: Paging<T>;
  none: ComponentChildren;
  label: string;
  columns: readonly Column<T>[];
  keyOf: (item: T) => string;
}) {
  return (
    <>
      {of.items.length > 0 ? <Table {...table} items={of.items} /> : null}
      <MoreOf of={of} none={none} />
    </>
  );
}
