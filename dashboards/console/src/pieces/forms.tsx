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

/** A field of one line. */
export function Field({ label, name, hint, ...input }: FieldProps & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'name' | 'label'>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} name={name} aria-describedby={hint ? `${id}-hint` : undefined} autoComplete="off" {...input} />
      {hint ? (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
    </div>
  );
}

/** A field of several lines. */
export function Area({ label, name, hint, ...input }: FieldProps & Omit<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, 'name' | 'label'>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea id={id} name={name} rows={5} spellcheck={false} aria-describedby={hint ? `${id}-hint` : undefined} {...input} />
      {hint ? (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
    </div>
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
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} aria-describedby={hint ? `${id}-hint` : undefined} {...input}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      {hint ? (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
    </div>
  );
}

/** A box to tick. */
export function Tick({ label, name, hint, ...input }: FieldProps & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'name' | 'label' | 'type'>) {
  const id = useId();
  return (
    <div class="tick">
      <input id={id} name={name} type="checkbox" aria-describedby={hint ? `${id}-hint` : undefined} {...input} />
      <label for={id}>{label}</label>
      {hint ? (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
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
