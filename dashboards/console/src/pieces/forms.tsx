/** Forms: fields with labels and hints, and what became of the form. */

import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Doing } from '../loading';
import { Fault, Notice } from './notices';

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly hint?: ComponentChildren;
}

/** What every field has around it: a label, and a hint where there is one. */
function Labelled({ id, label, hint, children }: { id: string; label: string; hint?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <Hint id={id} text={hint} />
    </div>
  );
}

/** The hint of a field, which names it as its description (`describedBy`). */
function Hint({ id, text }: { id: string; text?: ComponentChildren }) {
  return text ? (
    <p class="hint" id={`${id}-hint`}>
      {text}
    </p>
  ) : null;
}

function describedBy(id: string, hint?: ComponentChildren): string | undefined {
  return hint ? `${id}-hint` : undefined;
}

/** A field of one line. */
export function Field({ label, name, hint, ...input }: FieldProps & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'name' | 'label'>) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <input id={id} name={name} aria-describedby={describedBy(id, hint)} autoComplete="off" {...input} />
    </Labelled>
  );
}

/** A field of several lines. */
export function Area({ label, name, hint, ...input }: FieldProps & Omit<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, 'name' | 'label'>) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <textarea id={id} name={name} rows={5} spellcheck={false} aria-describedby={describedBy(id, hint)} {...input} />
    </Labelled>
  );
}

/** A choice. */
export function Choice({
  label,
  name,
  hint,
  options,
  ...input
}: FieldProps & { options: readonly (readonly [value: string, label: string])[] } & Omit<JSX.SelectHTMLAttributes<HTMLSelectElement>, 'name' | 'label'>) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <select id={id} name={name} aria-describedby={describedBy(id, hint)} {...input}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

/** A box to tick. */
export function Tick({ label, name, hint, ...input }: FieldProps & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'name' | 'label' | 'type'>) {
  const id = useId();
  return (
    <div class="tick">
      <input id={id} name={name} type="checkbox" aria-describedby={describedBy(id, hint)} {...input} />
      <label for={id}>{label}</label>
      <Hint id={id} text={hint} />
    </div>
  );
}

/** What became of something that was started. */
export function Outcome({ of }: { of: Doing<never> }) {
  return (
    <>
      <Fault error={of.error} />
      {of.done === null ? null : <Notice kind="good">{of.done}</Notice>}
    </>
  );
}

/** A form that is sent by its button or by Enter. */
export function Form({
  doing,
  submit,
  children,
  label,
  beside,
  onEmptied,
}: {
  doing: Doing<[FormData]>;
  submit: string;
  children: ComponentChildren;
  label: string;
  /** Buttons next to the form's own. */
  beside?: ComponentChildren;
  /** The form is emptied once it was done; this resets the fields that the page itself sets. */
  onEmptied?: () => void;
}) {
  const onSubmit = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    void doing.run(new FormData(form)).then((isDone) => {
      if (!isDone || onEmptied === undefined) return;
      form.reset();
      onEmptied();
    });
  };
  return (
    <form onSubmit={onSubmit} aria-label={label} aria-busy={doing.isBusy}>
      {children}
      <Outcome of={doing as unknown as Doing<never>} />
      <div class="row">
        <button class="main" disabled={doing.isBusy}>
          {doing.isBusy ? 'Working…' : submit}
        </button>
        {beside}
      </div>
    </form>
  );
}

/** A button that asks once more before it does something that cannot be undone. */
export function Sure({ label, question, onSure, disabled }: { label: string; question: string; onSure: () => void; disabled?: boolean }) {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) {
    return (
      <button type="button" class="danger" disabled={disabled} onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  }
  return (
    <span class="row" role="group" aria-label={question}>
      <span>{question}</span>
      <button
        type="button"
        class="danger"
        autoFocus
        onClick={() => {
          setAsking(false);
          onSure();
        }}
      >
        {label}
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Cancel
      </button>
    </span>
  );
}
