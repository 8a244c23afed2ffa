/** The search over everything that has a page, as a dialog. Arrow keys choose, Enter opens, Escape closes. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { find } from '../finding';
import { type Found, type Named, known } from '../places';
import { recent } from '../visited';
import { Fault } from './notices';
import { Stored } from './text';

/** The wait after a key before the server is asked. */
const PAUSE_MS = 200;

interface Asked {
  readonly text: string;
  readonly found: readonly Found[];
  readonly error: unknown;
}

const lately = (): Found[] => recent().map(({ path, title }) => ({ kind: 'Recent', title, note: '', path }));

export function Search({ pages, onClose }: { pages: readonly Named[]; onClose: () => void }) {
  const [, go] = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [text, setText] = useState('');
  const [asked, setAsked] = useState<Asked>({ text: '', found: [], error: null });
  const [chosen, setChosen] = useState(0);
  /** Whether Enter came before the answer. */
  const isAwaited = useRef(false);
  const id = useId();
  const wanted = text.trim();
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    if (wanted === '') return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      find(wanted).then(
        (found) => isCurrent && setAsked({ text: wanted, found, error: null }),
        (error: unknown) => isCurrent && setAsked({ text: wanted, found: [], error }),
      );
    }, PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [wanted]);
  const isAnswered = asked.text === wanted;
  const found = wanted === '' ? lately() : [...known(wanted, pages), ...(isAnswered ? asked.found : [])];
  const place = Math.min(chosen, Math.max(found.length - 1, 0));
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [place]);
  const leave = (path: string): void => {
    onClose();
    go(path);
  };
  useEffect(() => {
    const [first] = found;
    if (!isAwaited.current || !isAnswered) return;
    isAwaited.current = false;
    if (first !== undefined) leave(first.path);
  }, [isAnswered]);
  const onKey = (event: KeyboardEvent): void => {
    // A browser would empty the field first.
    if (event.key === 'Escape') {
      event.preventDefault();
      dialog.current?.close();
      return;
    }
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const move = moves[event.key];
    if (move !== undefined && found.length > 0) {
      event.preventDefault();
      setChosen((place + move + found.length) % found.length);
    }
    const at = found[place];
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (at !== undefined) leave(at.path);
    else isAwaited.current = wanted !== '' && !isAnswered;
  };
  return (
    <dialog ref={dialog} class="search-dialog" aria-label="Search" onClose={onClose} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <div class="ask">
        <input
          type="search"
          role="combobox"
          aria-label="Search"
          aria-autocomplete="list"
          aria-expanded={found.length > 0}
          aria-controls={found.length > 0 ? `${id}-list` : undefined}
          aria-activedescendant={found.length > 0 ? `${id}-${place}` : undefined}
          placeholder="Id, number, address, hash or name"
          autoComplete="off"
          spellcheck={false}
          maxLength={200}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
            isAwaited.current = false;
          }}
          onKeyDown={onKey}
        />
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      {found.length === 0 ? null : (
        <ul ref={list} role="listbox" id={`${id}-list`} aria-label={wanted === '' ? 'Recent pages' : 'What was found'}>
          {found.map((one, index) => (
            <li
              key={`${one.path} ${one.title} ${index}`}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === place}
              onPointerMove={() => index !== place && setChosen(index)}
              onClick={() => leave(one.path)}
            >
              <span class="faint">{one.kind}</span>
              <span class="what">
                <Stored text={one.title} />
              </span>
              {one.note === '' ? null : (
                <span class="faint note">
                  <Stored text={one.note} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {isAnswered ? <Fault error={asked.error} /> : null}
      <p class="below" role="status">
        {wanted === ''
          ? 'Ids of every kind, addresses, sequences, numbers of batches and anchors, hashes, names.'
          : !isAnswered
            ? 'Searching…'
            : found.length === 0 && asked.error === null
              ? 'Nothing was found. Hashes are compared with the newest 200 batches and anchors.'
              : '↑ ↓ to choose, Enter to open, Esc to close'}
      </p>
    </dialog>
  );
}
