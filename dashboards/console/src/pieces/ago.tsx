/** A time as the distance from now, with the exact time for those who point at it. */

import { now } from '../clock';
import { relative } from '../figures';
import { Stored } from './text';

/** A time, relative to now; the exact one is its title. */
export function Ago({ at }: { at: string | number | null | undefined }) {
  if (at == null) return <span class="faint">never</span>;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <Stored text={String(at)} />;
  return (
    <time class="ago" dateTime={date.toISOString()} title={`${date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })} (${date.toISOString()})`}>
      {relative(date.getTime(), now.value)}
    </time>
  );
}
