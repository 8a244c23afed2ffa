/** A time as the distance from now, with the exact time for those who point at it. */

import { Stored } from './text';

const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

const words = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

function distance(seconds: number): string {
  const [unit, size] = STEPS.find(([, least]) => Math.abs(seconds) >= least) ?? ['second', 1];
  return words.format(Math.trunc(seconds / size), unit);
}

/** A time, as “3 minutes ago”. */
export function Ago({ at }: { at: string }) {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <Stored text={at} />;
  return (
    <time dateTime={time.toISOString()} title={time.toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' })}>
      {distance((time.getTime() - Date.now()) / 1_000)}
    </time>
  );
}
