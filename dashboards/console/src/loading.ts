/** Hooks for server requests: one value, a paged list, and a change by a form. */

import type { Listing } from '@kedge/sdk';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** State of a value that is being loaded. */
export interface Loading<T> {
  readonly value: T | null;
  readonly error: unknown;
  readonly isBusy: boolean;
  readonly reload: () => void;
}

/** Loads a value whenever `inputs` change. The old value stays until the new one arrives. */
export function useLoading<T>(read: () => PromiseLike<T>, inputs: readonly unknown[]): Loading<T> {
  const [state, setState] = useState<{ value: T | null; error: unknown; isBusy: boolean }>({ value: null, error: null, isBusy: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setState((old) => ({ ...old, isBusy: true }));
    Promise.resolve()
      .then(read)
      .then(
        (value) => isCurrent && setState({ value, error: null, isBusy: false }),
        (error: unknown) => isCurrent && setState((old) => ({ ...old, error, isBusy: false })),
      );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, turn]);
  const reload = useCallback(() => setTurn((old) => old + 1), []);
  return { ...state, reload };
}

/** State of a list. */
export interface Paging<T> {
  readonly items: readonly T[];
  readonly error: unknown;
  readonly isBusy: boolean;
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly reload: () => void;
}

type ItemOf<P> = P extends { items: (infer T)[] } ? T : never;
type Pages = AsyncGenerator<unknown, void, undefined>;

/** Loads a list page by page. */
export function usePaging<P extends { items: unknown[]; cursor: string | null }>(list: () => Pick<Listing<P>, 'pages'>, inputs: readonly unknown[]): Paging<ItemOf<P>> {
  const [state, setState] = useState<{ items: ItemOf<P>[]; error: unknown; isBusy: boolean; hasMore: boolean }>({
    items: [],
    error: null,
    isBusy: true,
    hasMore: false,
  });
  const [turn, setTurn] = useState(0);
  const pages = useRef<Pages | null>(null);
  const readPage = useCallback(async (from: Pages, isFirst: boolean) => {
    setState((old) => ({ ...old, isBusy: true }));
    try {
      const { value } = await from.next();
      if (pages.current !== from) return;
      const page = value as P | undefined;
      const items = (page?.items ?? []) as ItemOf<P>[];
      setState((old) => ({ items: isFirst ? items : [...old.items, ...items], error: null, isBusy: false, hasMore: page?.cursor != null }));
    } catch (error) {
      // A generator that threw has ended, so the list is read again from its beginning.
      if (pages.current === from) setState((old) => ({ ...old, error, isBusy: false, hasMore: false }));
    }
  }, []);
  useEffect(() => {
    const from = (async function* () {
      yield* list().pages();
    })();
    pages.current = from;
    void readPage(from, true);
    return () => {
      pages.current = null;
    };
  }, [...inputs, turn]);
  const more = useCallback(() => {
    if (pages.current !== null) void readPage(pages.current, false);
  }, []);
  const reload = useCallback(() => setTurn((old) => old + 1), []);
  return { ...state, more, reload };
}

/** State of an action that the user started. */
export interface Doing<A extends unknown[]> {
  /** Runs the action. Resolves with whether it succeeded. */
  readonly run: (...inputs: A) => Promise<boolean>;
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Success message of the last run. */
  readonly done: string | null;
  readonly clear: () => void;
}

/** An action of the user, one run at a time. Its result is shown as the success message. */
export function useDoing<A extends unknown[]>(act: (...inputs: A) => Promise<string | void>): Doing<A> {
  const [state, setState] = useState<{ isBusy: boolean; error: unknown; done: string | null }>({ isBusy: false, error: null, done: null });
  const isRunning = useRef(false);
  const run = async (...inputs: A): Promise<boolean> => {
    if (isRunning.current) return false;
    isRunning.current = true;
    setState({ isBusy: true, error: null, done: null });
    try {
      const done = await act(...inputs);
      setState({ isBusy: false, error: null, done: done ?? null });
      return true;
    } catch (error) {
      setState({ isBusy: false, error, done: null });
      return false;
    } finally {
      isRunning.current = false;
    }
  };
  const clear = (): void => setState({ isBusy: false, error: null, done: null });
  return { ...state, run, clear };
}
