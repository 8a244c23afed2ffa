/** Columns of a table of objects: those that all have, and those of a template's schema, in the order that the user chose. */

import { JsonText, type Schemas, writeJson } from '@kedge/sdk';
import { type ExactAnswer, objectIn } from '../exact-answers';
import { nameIn } from '../naming';
import { type Exact, memberOf } from '../schema/exact';
import type { Member, Shape } from '../schema/shape';
import { Ago } from './ago';
import type { Column } from './lists';
import { Hash, Ref, State, Stored } from './text';

type Item = ExactAnswer<Schemas['ObjectView']>;

/** Columns that are shown before the user has chosen some. */
const SHOWN_MAX = 4;
/** Characters of a value that a cell shows. */
const CELL_MAX = 40;
const DRAWN: readonly Shape['kind'][] = ['text', 'number', 'boolean', 'choice'];

const isShort = (shape: Shape): boolean => DRAWN.includes(shape.kind) && !(shape.kind === 'text' && shape.form === 'long');

/** The members that are shown before the user has chosen some: short ones, and not the name, which has a column. */
export const usualColumns = (members: readonly Member[]): string[] =>
  members
    .filter(({ name, shape }) => isShort(shape) && name !== 'name' && name !== 'title')
    .slice(0, SHOWN_MAX)
    .map(({ name }) => name);

/** Chosen columns as a part of the address. */
export const columnsText = (names: readonly string[]): string => (names.length === 0 ? 'none' : names.map(encodeURIComponent).join(','));

/** The columns that the address names; null if it names none. Unknown ones are left out. */
export function columnsIn(text: string | null, members: readonly Member[]): string[] | null {
  if (text === null || text === '') return null;
  const names = text.split(',').map((name) => members.find((member) => encodeURIComponent(member.name) === name)?.name);
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** A property in words. Of a longer text, the first characters are shown, and all as its title. */
export function Cell({ of, shape, most = CELL_MAX }: { of: Exact | undefined; shape: Shape; most?: number }) {
  if (of === undefined) return null;
  if (typeof of === 'boolean') return <>{of ? 'yes' : 'no'}</>;
  if (typeof of === 'string' && shape.kind === 'text' && shape.form === 'date-time') return <Ago at={of} />;
  const text = typeof of === 'string' ? of : writeJson(of);
  if (text.length <= most) return of instanceof JsonText ? <span class="number">{text}</span> : <Stored text={text} />;
  return (
    <span title={text}>
      <Stored text={`${text.slice(0, most)}…`} />
    </span>
  );
}

/** An object: its name, or its id. */
export function Named({ of: { value, exact } }: { of: Item }) {
  const name = nameIn(objectIn(exact, 'properties'));
  if (name === null) return <Ref id={value.id} />;
  return (
    <a href={`#/objects/${value.id}`} title={value.id}>
      <Stored text={name} />
    </a>
  );
}

/** The columns of the table. `names` are the names of templates by their ids, if the table has objects of several. */
export function objectColumns(chosen: readonly Member[], names: ReadonlyMap<string, string> | null): Column<Item>[] {
  const template: Column<Item> = {
    name: 'Template',
    show: ({ value: { template_id: id } }) => {
      const name = names?.get(id);
      return name === undefined ? <Ref id={id} /> : <a href={`#/templates/${id}`}><Stored text={name} /></a>;
    },
  };
  return [
    { name: 'Object', show: (item) => <Named of={item} /> },
    ...(names === null ? [] : [template]),
    ...chosen.map(({ name, shape }) => ({
      name: shape.title ?? name,
      show: ({ exact }: Item) => <Cell of={memberOf(objectIn(exact, 'properties'), name)} shape={shape} />,
      isNumber: shape.kind === 'number',
    })),
    { name: 'Status', show: ({ value: { status } }) => <State of={status} /> },
    { name: 'Owner', show: ({ value: { owner_address: owner } }) => <Hash value={owner} /> },
    { name: 'Changed', show: ({ value: { updated_at: at } }) => <Ago at={at} /> },
  ];
}

/** The choice of columns. */
export function ColumnChoice({ members, chosen, onChange }: { members: readonly Member[]; chosen: readonly string[]; onChange: (chosen: string[]) => void }) {
  const others = members.filter(({ name }) => !chosen.includes(name));
  const inOrder = [...chosen.flatMap((name) => members.filter((member) => member.name === name)), ...others];
  const swapped = (i: number): string[] => chosen.map((name, at) => (at === i ? chosen[i + 1] : at === i + 1 ? chosen[i] : name) as string);
  return (
    <details class="columns">
      <summary>Columns</summary>
      <ul class="plain">
        {inOrder.map(({ name, shape }) => {
          const at = chosen.indexOf(name);
          const title = shape.title ?? name;
          return (
            <li key={name} class="row">
              <label class="option">
                <input type="checkbox" checked={at >= 0} onChange={() => onChange(at >= 0 ? chosen.filter((one) => one !== name) : [...chosen, name])} />
                <Stored text={title} />
              </label>
              {at < 0 ? null : (
                <>
                  <button type="button" class="small" aria-label={`Move ${title} to the left`} disabled={at === 0} onClick={() => onChange(swapped(at - 1))}>
                    <span aria-hidden="true">←</span>
                  </button>
                  <button
                    type="button"
                    class="small"
                    aria-label={`Move ${title} to the right`}
                    disabled={at === chosen.length - 1}
                    onClick={() => onChange(swapped(at))}
                  >
                    <span aria-hidden="true">→</span>
                  </button>
                </>
              )}
            </li>
          );
        })}
      </ul>
    </details>
  );
}
