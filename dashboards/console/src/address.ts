/** The part of the address after the path of a page, which keeps what its user chose: #/objects?template=tpl_… */

import { useEffect, useState } from 'preact/hooks';
import { useHashLocation } from 'wouter-preact/use-hash-location';

const queryOf = (hash: string): string => hash.split('?')[1] ?? '';

/** The path of the page that is shown. What the page keeps in the address is no part of it. */
export function usePath(): ReturnType<typeof useHashLocation> {
  const [path, go] = useHashLocation();
  return [path.split('?')[0] ?? '/', go];
}

/** The address of a page with choices; empty ones are left out. */
export function addressOf(path: string, choices: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value !== '')).toString();
  return query === '' ? `#${path}` : `#${path}?${query}`;
}

/** The choices in the address, and how to change some. A change adds no step to the browser's history. */
export function useChoices(path: string): [URLSearchParams, (changes: Readonly<Record<string, string>>) => void] {
  const [query, setQuery] = useState(() => queryOf(location.hash));
  useEffect(() => {
    const read = (): void => setQuery(queryOf(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  const change = (changes: Readonly<Record<string, string>>): void => {
    const address = addressOf(path, { ...Object.fromEntries(new URLSearchParams(queryOf(location.hash))), ...changes });
    history.replaceState(history.state, '', address);
    setQuery(queryOf(address));
  };
  return [new URLSearchParams(query), change];
}
