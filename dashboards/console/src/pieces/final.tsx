/** A question before something that cannot be undone. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** White space of a name is shown and typed as one space. */
const plain = (text: string): string => text.trim().replace(/\s+/g, ' ');

/** A dialog in which the user types a word before the action can be done. It takes the focus, and gives it back. */
export function Final({
  title,
  word,
  what,
  submit,
  children,
  onSure,
  onClose,
}: {
  title: string;
  /** What must be typed. */
  word: string;
  /** What the word is, such as “the object’s name”. */
  what: string;
  submit: string;
  children: ComponentChildren;
  onSure: () => void;
  onClose: () => void;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const isRight = plain(typed) === plain(word);
  const onSubmit = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (isRight) onSure();
  };
  return (
    <dialog ref={dialog} class="final" aria-labelledby={`${id}-title`} aria-describedby={`${id}-words`} onClose={onClose}>
      <form onSubmit={onSubmit} aria-label={title}>
        <h2 id={`${id}-title`}>{title}</h2>
        <div id={`${id}-words`}>{children}</div>
        <div class="field">
          <label for={id}>
            Type {what}, <bdi class="word">{plain(word)}</bdi>, to go on
          </label>
          <input id={id} value={typed} autoComplete="off" autoFocus spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
        </div>
        <div class="row">
          <button class="danger" disabled={!isRight}>
            {submit}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
