/** Pages that were shown lately: where a login returns to, and what the search offers first. Only in memory. */

import { shortened } from './pieces/text';

/** A page that was shown. */
export interface Visit {
  readonly path: string;
  readonly title: string;
}

const VISITS_MAX = 8;

let visits: readonly Visit[] = [];
let wanted = '/';

const isOfLogin = (path: string): boolean => path === '/login' || path === '/register';

/** Notes that a page is shown. `isListed`: the search offers it. */
export function visited(name: string, isListed: boolean): void {
  const path = `/${location.hash.replace(/^#?\/?/, '')}`;
  if (isOfLogin(path)) return;
  wanted = path;
  if (path === '/' || !isListed) return;
  const [, , id = ''] = path.split('/');
  const title = /^[a-z]{3}_/.test(id) && !/[0-9]/.test(name) ? `${name} ${shortened(id)}` : name;
  visits = [{ path, title }, ...visits.filter((visit) => visit.path !== path)].slice(0, VISITS_MAX);
}

/** The pages shown before this one, newest first. */
export const recent = (): readonly Visit[] => visits;

/** Where the user was, or wanted to go, before logging in. */
export const whereWanted = (): string => wanted;

/** Forgets all of it, when the user logs out. */
export function forgetVisits(): void {
  visits = [];
  wanted = '/';
}
