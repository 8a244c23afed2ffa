/** Copying a text, and whether that has just succeeded. */

import { useEffect, useState } from 'preact/hooks';

/** How long the outcome is shown, milliseconds. */
const SHOWN_MS = 2_000;

export type CopyState = '' | 'copied' | 'failed';

/** The outcome of the last copy, for a moment, and how to copy. */
export function useCopying(text: string): [CopyState, () => void] {
  const [state, setState] = useState<CopyState>('');
  useEffect(() => {
    if (state === '') return undefined;
    const timer = setTimeout(() => setState(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setState('copied'),
      () => setState('failed'),
    );
  };
  return [state, copy];
}
