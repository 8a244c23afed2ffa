/** Forms: fields with labels and hints, and their results. */

import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Doing } from '../loading';
import { Fault, Notice } from './notices';

/** The server's minimum for a password, in characters. */
export const PASSWORD_LENGTH_MIN = 15;
export const PASSWORD_RULE = `At least ${PASSWORD_LENGTH_MIN} characters. A long passphrase is best; passwords that are guessed first are refused.`;

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly hint?: ComponentChildren;
}

/** Label and optional hint around a field. */
function Labelled({ id, label, hint, children }: { id: string; label: string; hint?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <Hint id={id} text={hint} />
    </div>
  );
}

/** Hint of a field, which refers to it as its description (`describedBy`). */
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

/** A single-line field. */
export function Field({ label, name, hint, ...input }: FieldProps & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'name' | 'label'>) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <input id={id} name={name} aria-describedby={describedBy(id, hint)} autoComplete="off" {...input} />
    </Labelled>
  );
}

/** A multi-line field. */
export function Area({ label, name, hint, ...input }: FieldProps & Omit<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, 'name' | 'label'>) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <textarea id={id} name={name} rows={5} spellcheck={false} aria-describedby={describedBy(id, hint)} {...input} />
    </Labelled>
  );
}

/** A selection. */
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

/** A checkbox. */
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

/** Result of an action. */
export function Outcome({ of }: { of: Doing<never> }) {
  return (
    <>
      <Fault error={of.error} />
      {of.done === null ? null : <Notice kind="good">{of.done}</Notice>}
    </>
  );
}

/** A form, submitted by its button or by Enter. */
export function Form({
  doing,
  submit,
  children,
  label,
  beside,
  onEmptied,
  noValidate,
}: {
  doing: Doing<[FormData]>;
  submit: string;
  children: ComponentChildren;
  label: string;
  /** Buttons next to the form's button. */
  beside?: ComponentChildren;
  /** Resets fields set by the page, after the form succeeded and was emptied. */
  onEmptied?: () => void;
  /** For forms that say themselves, at each field, what is wrong with it. */
  noValidate?: boolean;
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
    <form
      onSubmit={onSubmit}
      onInput={() => doing.done !== null && doing.clear()}
      noValidate={noValidate}
      aria-label={label}
      aria-busy={doing.isBusy}
    >
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

/** A button with a confirmation before something irreversible. */
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
