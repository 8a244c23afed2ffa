/** Fields for what a JSON Schema describes. Titles and descriptions are tenants' texts. */

import { JsonText } from '@kedge/sdk';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { type Draft, itemOf } from '../schema/draft';
import { escaped } from '../schema/exact';
import type { SchemaForm, Wrongs } from '../schema/form';
import type { Shape } from '../schema/shape';
import { Stored } from './text';

/** A place in the form. */
interface PlaceProps {
  readonly shape: Shape;
  readonly draft: Draft;
  /** Name of the field if its schema has no title. */
  readonly name: string;
  readonly pointer: string;
  readonly isRequired: boolean;
  readonly wrongs: Wrongs;
  readonly prefix: string;
  readonly onChange: (draft: Draft) => void;
}

/** Attributes of a field's control. */
interface Control {
  readonly id: string;
  readonly required: boolean;
  readonly 'aria-invalid': boolean | undefined;
  readonly 'aria-describedby': string | undefined;
}

/** The id of a place’s control. Lists of ids are separated by spaces, so names keep none. */
const idOf = ({ prefix, pointer }: PlaceProps): string => prefix + pointer.replace(/[^\w/-]/g, (character) => `_${character.charCodeAt(0)}_`);

const titleOf = ({ shape, name }: PlaceProps): string => shape.title ?? name;

function Wrong({ id, messages }: { id: string; messages: readonly string[] | undefined }) {
  if (messages === undefined) return null;
  return (
    <div class="wrong" id={`${id}-wrong`}>
      {messages.map((message) => (
        <p key={message}>
          <Stored text={message} />
        </p>
      ))}
    </div>
  );
}

/** A label, a control, its hint, and what is wrong with it. */
function Line({ of, hint, kind, children }: { of: PlaceProps; hint?: ComponentChildren; kind?: string; children: (control: Control) => ComponentChildren }) {
  const id = idOf(of);
  const messages = of.wrongs.get(of.pointer);
  const { description } = of.shape;
  const hasHint = description !== null || Boolean(hint);
  const described = [hasHint ? `${id}-hint` : '', messages ? `${id}-wrong` : ''].filter(Boolean).join(' ');
  const control: Control = { id, required: of.isRequired, 'aria-invalid': messages ? true : undefined, 'aria-describedby': described || undefined };
  return (
    <div class={kind ?? 'field'}>
      {kind === 'tick' ? children(control) : null}
      <label for={id} class={of.isRequired ? 'needed' : undefined}>
        <Stored text={titleOf(of)} />
      </label>
      {kind === 'tick' ? null : children(control)}
      {hasHint ? (
        <p class="hint" id={`${id}-hint`}>
          {description === null ? null : <Stored text={description} />} {hint}
        </p>
      ) : null}
      <Wrong id={id} messages={messages} />
    </div>
  );
}

/** What a schema says of a value's size, in words. */
function rangeOf({ schema }: Shape): string | null {
  const bounds = [['minimum', 'at least'], ['maximum', 'at most']] as const;
  const words = bounds.flatMap(([keyword, word]) => (schema[keyword] instanceof JsonText ? [`${word} ${schema[keyword].text}`] : []));
  return words.length === 0 ? null : `A number of ${words.join(' and ')}.`;
}

/** A stored time in the form of the browser's field, in the reader's time zone; null if it is none. */
function localTime(text: string): string | null {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return null;
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace(/:00$/, '');
}

function TextField({ of, form, text, onText }: { of: PlaceProps; form: 'line' | 'long' | 'date' | 'date-time'; text: string; onText: (text: string) => void }) {
  const { schema } = of.shape;
  if (form === 'date' && /^([0-9]{4}-[0-9]{2}-[0-9]{2})?$/.test(text)) {
    return <Line of={of}>{(control) => <input {...control} type="date" value={text} onInput={(event) => onText(event.currentTarget.value)} />}</Line>;
  }
  const time = form === 'date-time' ? (text === '' ? '' : localTime(text)) : null;
  if (time !== null) {
    const onTime = (value: string): void => onText(value === '' ? '' : new Date(value).toISOString().replace('.000Z', 'Z'));
    return (
      <Line of={of} hint="In your time zone. It is stored as UTC.">
        {(control) => <input {...control} type="datetime-local" step={1} value={time} onChange={(event) => onTime(event.currentTarget.value)} />}
      </Line>
    );
  }
  const pattern = typeof schema['pattern'] === 'string' ? <>It must match <Stored text={schema['pattern']} />.</> : null;
  const isLong = form === 'long' || text.length > 100 || text.includes('\n');
  return (
    <Line of={of} hint={pattern}>
      {(control) =>
        isLong ? (
          <textarea {...control} class="prose" rows={4} value={text} onInput={(event) => onText(event.currentTarget.value)} />
        ) : (
          <input {...control} autoComplete="off" value={text} onInput={(event) => onText(event.currentTarget.value)} />
        )
      }
    </Line>
  );
}

function Scalar({ of, text, onText }: { of: PlaceProps; text: string; onText: (text: string) => void }) {
  const { shape } = of;
  switch (shape.kind) {
    case 'text':
      return <TextField of={of} form={shape.form} text={text} onText={onText} />;
    case 'number':
      return (
        <Line of={of} hint={rangeOf(shape)}>
          {(control) => (
            <input
              {...control}
              class="digits"
              inputMode={shape.isWhole ? 'numeric' : 'decimal'}
              autoComplete="off"
              value={text}
              onInput={(event) => onText(event.currentTarget.value)}
            />
          )}
        </Line>
      );
    case 'boolean':
      if (of.isRequired) {
        return (
          <Line of={{ ...of, isRequired: false }} kind="tick">
            {(control) => <input {...control} type="checkbox" checked={text === 'true'} onChange={(event) => onText(String(event.currentTarget.checked))} />}
          </Line>
        );
      }
      return (
        <Line of={of}>
          {(control) => (
            <select {...control} value={text} onChange={(event) => onText(event.currentTarget.value)}>
              <option value="">not set</option>
              <option value="true">yes</option>
              <option value="false">no</option>
            </select>
          )}
        </Line>
      );
    case 'choice':
      return (
        <Line of={of}>
          {(control) => (
            <select {...control} value={text} onChange={(event) => onText(event.currentTarget.value)}>
              <option value="">{of.isRequired ? 'choose one' : 'not set'}</option>
              {shape.options.map(({ label }, i) => (
                <option key={label} value={String(i)}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Line>
      );
    default:
      return null;
  }
}

function Group({ of, children }: { of: PlaceProps; children: ComponentChildren }) {
  const id = idOf(of);
  const messages = of.wrongs.get(of.pointer);
  return (
    <fieldset class="group" aria-describedby={messages ? `${id}-wrong` : undefined}>
      <legend class={of.isRequired ? 'needed' : undefined} tabIndex={messages ? -1 : undefined} data-wrong={messages ? true : undefined}>
        <Stored text={titleOf(of)} />
      </legend>
      {of.shape.description === null ? null : (
        <p class="hint">
          <Stored text={of.shape.description} />
        </p>
      )}
      <Wrong id={id} messages={messages} />
      {children}
    </fieldset>
  );
}

function Items({ of, shape, draft }: { of: PlaceProps; shape: Shape & { kind: 'list' }; draft: Draft & { kind: 'list' } }) {
  const group = useRef<HTMLDivElement>(null);
  const after = useRef<'added' | 'removed' | null>(null);
  const { items } = draft;
  const title = titleOf(of);
  useLayoutEffect(() => {
    // The next key belongs where the change was, so the focus does not wait for a frame.
    const target = after.current === 'added' ? '.item:last-of-type :is(input, select, textarea)' : after.current === 'removed' ? 'button.add' : null;
    after.current = null;
    if (target !== null) group.current?.querySelector<HTMLElement>(`:scope > ${target}`)?.focus();
  }, [items.length]);
  const set = (next: typeof items, change: 'added' | 'removed' | null = null): void => {
    after.current = change;
    of.onChange({ ...draft, items: next });
  };
  return (
    <div ref={group} class="items">
      {items.map(({ key, draft: one }, i) => (
        <div key={key} class="item">
          <Place
            {...of}
            shape={shape.item}
            draft={one}
            name={`${title} ${i + 1}`}
            pointer={`${of.pointer}/${i}`}
            isRequired={shape.item.kind === 'object'}
            onChange={(next) => set(items.map((item) => (item.key === key ? { key, draft: next } : item)))}
          />
          <button type="button" class="small" aria-label={`Remove ${title} ${i + 1}`} onClick={() => set(items.filter((item) => item.key !== key), 'removed')}>
            Remove
          </button>
        </div>
      ))}
      <button type="button" class="small add" aria-label={`Add to ${title}`} onClick={() => set([...items, itemOf(shape.item)], 'added')}>
        Add
      </button>
    </div>
  );
}

/** The members of an object that have no field. */
function Rest({ of, draft }: { of: PlaceProps; draft: Draft & { kind: 'object' } }) {
  const id = `${idOf(of)}-rest`;
  return (
    <details open={draft.rest !== '' ? true : undefined}>
      <summary>{of.pointer === '' ? 'Other properties' : `Other properties of ${titleOf(of)}`}</summary>
      <div class="field">
        <label for={id}>{of.pointer === '' ? 'Other properties, as JSON' : `Other properties of ${titleOf(of)}, as JSON`}</label>
        <textarea id={id} rows={4} spellcheck={false} value={draft.rest} onInput={(event) => of.onChange({ ...draft, rest: event.currentTarget.value })} />
      </div>
    </details>
  );
}

function Members({ of, shape, draft }: { of: PlaceProps; shape: Shape & { kind: 'object' }; draft: Draft & { kind: 'object' } }) {
  return (
    <>
      {shape.members.map(({ name, isRequired, shape: member }) => {
        const one = draft.members[name];
        if (one === undefined) return null;
        return (
          <Place
            key={name}
            {...of}
            shape={member}
            draft={one}
            name={name}
            pointer={`${of.pointer}/${escaped(name)}`}
            isRequired={isRequired}
            onChange={(next) => of.onChange({ ...draft, members: { ...draft.members, [name]: next } })}
          />
        );
      })}
      {shape.isOpen ? <Rest of={of} draft={draft} /> : null}
    </>
  );
}

/** A field, or a group of fields. */
function Place(of: PlaceProps) {
  const { shape, draft, onChange } = of;
  switch (draft.kind) {
    case 'field':
      return <Scalar of={of} text={draft.text} onText={(text) => onChange({ ...draft, text })} />;
    case 'json':
      return (
        <Line of={of} hint="Write this part as JSON.">
          {(control) => (
            <textarea {...control} rows={4} spellcheck={false} value={draft.text} onInput={(event) => onChange({ kind: 'json', text: event.currentTarget.value })} />
          )}
        </Line>
      );
    case 'list':
      return shape.kind === 'list' ? <Group of={of}><Items of={of} shape={shape} draft={draft} /></Group> : null;
    case 'object':
      return shape.kind === 'object' ? <Group of={of}><Members of={of} shape={shape} draft={draft} /></Group> : null;
  }
}

/** All fields of a form, or the whole as JSON. */
export function SchemaFields({ of, label }: { of: SchemaForm; label: string }) {
  const prefix = useId();
  const { shape, draft, text, wrongs, change, write, turn, place } = of;
  const onTurn = (): void => {
    try {
      turn();
    } catch {
      // What is wrong is shown at its field.
    }
  };
  const all = [...wrongs].flatMap(([pointer, messages]) => messages.map((message) => (pointer === '' ? message : `${pointer.slice(1)}: ${message}`)));
  const top: PlaceProps = { shape, draft, name: label, pointer: '', isRequired: true, wrongs, prefix, onChange: change };
  return (
    <div ref={place} class="drawn">
      <div class="row between">
        <h3>{label}</h3>
        <button type="button" class="small" aria-pressed={text !== null} onClick={onTurn}>
          As JSON
        </button>
      </div>
      {text === null ? (
        <>
          <Wrong id={prefix} messages={wrongs.get('')} />
          {draft.kind === 'object' ? <Members of={top} shape={shape} draft={draft} /> : null}
        </>
      ) : (
        <div class="field">
          <label for={`${prefix}-all`}>{label}, as JSON</label>
          <textarea
            id={`${prefix}-all`}
            rows={12}
            spellcheck={false}
            aria-invalid={all.length > 0 ? true : undefined}
            aria-describedby={all.length > 0 ? `${prefix}-all-wrong` : undefined}
            value={text}
            onInput={(event) => write(event.currentTarget.value)}
          />
          <Wrong id={`${prefix}-all`} messages={all.length > 0 ? all : undefined} />
        </div>
      )}
    </div>
  );
}
