/** Operator commands, over the listener of `operator_page_listen`. */

import { useEffect, useState } from 'preact/hooks';

/** Runs a command, and returns its answer. */
export async function send<T>(token: string, command: object): Promise<T> {
  const answer = await fetch('/operator/command', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(command),
  });
  if (answer.status === 404) throw new Error('This address has no operator’s page: open the one that operator_page_listen names.');
  const { ok, error, ...members } = (await answer.json()) as { ok: boolean; error?: string };
  if (!ok) throw new Error(error ?? `the server answered ${answer.status}`);
  return members as T;
}

/** The answers of a repeated command. */
export interface Watched<T> {
  readonly value: T | null;
  readonly error: unknown;
  /** Repeats the command immediately. */
  readonly again: () => void;
}

/** Repeats a read-only command at this interval. */
export function useWatched<T>(token: string, command: string, intervalMs: number): Watched<T> {
  const [value, setValue] = useState<T | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let isCurrent = true;
    const read = (): void => {
      send<T>(token, { command })
        .then(
          (next) => {
            if (!isCurrent) return;
            setValue(next);
            setError(null);
          },
          (failure: unknown) => isCurrent && setError(failure),
        )
        .finally(() => {
          if (isCurrent) timer = setTimeout(read, intervalMs);
        });
    };
    read();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [token, command, intervalMs, asked]);
  return { value, error, again: () => setAsked((count) => count + 1) };
}
