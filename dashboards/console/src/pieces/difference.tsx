/** What changes between two values, place by place. */

import { writeJson } from '@kedge/sdk';
import { type Exact, type ExactObject, differences, namesOf } from '../schema/exact';
import type { Shape } from '../schema/shape';
import { Table } from './lists';
import { Stored } from './text';

/** A value in one line. */
export function Value({ of }: { of: Exact | undefined }) {
  if (of === undefined) return <span class="faint">not set</span>;
  if (of === '') return <span class="faint">empty</span>;
  return <Stored text={typeof of === 'string' ? of : writeJson(of)} />;
}

/** The name of a place, from the titles of the schema where it has some. */
function nameOf(pointer: string, shape: Shape | null): string {
  let at = shape;
  const names = namesOf(pointer).map((name) => {
    if (at?.kind === 'list') {
      at = at.item;
      return String(Number(name) + 1);
    }
    const member = at?.kind === 'object' ? at.members.find((one) => one.name === name) : undefined;
    at = member?.shape ?? null;
    return at?.title ?? name;
  });
  return names.join(' › ');
}

/** One change. */
export interface Change {
  /** The place; unique among the changes that are shown together. */
  readonly pointer: string;
  readonly name: string;
  readonly before: Exact | undefined;
  readonly after: Exact | undefined;
}

/** The changes between two objects' properties. */
export const changesOf = (before: ExactObject, after: ExactObject, shape: Shape | null): Change[] =>
  differences(before, after).map((difference) => ({ ...difference, name: nameOf(difference.pointer, shape) }));

/** Changes as a table: old and new. */
export function Changes({ of, label, none }: { of: readonly Change[]; label: string; none: string }) {
  if (of.length === 0) {
    return (
      <p class="faint" role="status">
        {none}
      </p>
    );
  }
  return (
    <div class="changes">
      <h3>{label}</h3>
      <Table
        label={label}
        items={of}
        keyOf={({ pointer }) => pointer}
        columns={[
          { name: 'Field', show: ({ name }) => <Stored text={name} /> },
          {
            name: 'Now',
            show: ({ before }) => (
              <del>
                <Value of={before} />
              </del>
            ),
          },
          {
            name: 'Then',
            show: ({ after }) => (
              <ins>
                <Value of={after} />
              </ins>
            ),
          },
        ]}
      />
    </div>
  );
}
