/** Numbers and times for charts and tables. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** The end of an axis of whole numbers: 1, 2 or 5 times a power of ten, at least `most`. */
export function axisEnd(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((end) => end >= most) ?? power * 10;
}

const DURATIONS = [1, 2, 5, 10, 20, 30, 60].flatMap((count) => [count * SECOND, count * MINUTE]).concat([2, 4, 6, 12, 24].map((count) => count * HOUR)).sort((a, b) => a - b);

/** The end of an axis of durations, at least `most`. */
export const durationEnd = (most: number): number => DURATIONS.find((end) => end >= most) ?? axisEnd(most / DAY) * DAY;

/** A duration in its largest suitable unit. */
export function lasting(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 2 * MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < 2 * HOUR) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`;
  if (ms < 2 * YEAR) return `${Math.round(ms / DAY)} days`;
  return `${Math.round(ms / YEAR)} years`;
}

/** A time relative to `now`. */
export function relative(at: number, now: number): string {
  const away = Math.abs(now - at);
  if (away < 10 * SECOND) return 'just now';
  return at > now ? `in ${lasting(away)}` : `${lasting(away)} ago`;
}

/** Something that happened, as often as `count`. */
export interface Happened {
  readonly at: number;
  readonly count: number;
}

/** A span of time, and how much happened in it. */
export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

const WIDTHS = [
  [MINUTE, 'minute'],
  [5 * MINUTE, '5 minutes'],
  [15 * MINUTE, '15 minutes'],
  [HOUR, 'hour'],
  [6 * HOUR, '6 hours'],
  [DAY, 'day'],
] as const;

/** The most buckets that a chart shows. */
const BUCKETS_MAX = 40;

export interface Buckets {
  /** The width of a bucket, in words. */
  readonly each: string;
  readonly buckets: readonly Bucket[];
}

/**
 * Sorts what happened until `now` into buckets of one width. `isCut`: there is more before the first one, so its bucket
 * is not whole and is left out, unless it is the only one.
 */
export function bucketed(all: readonly Happened[], now: number, isCut: boolean): Buckets {
  const first = Math.min(...all.map(({ at }) => at), now);
  const [width, each] = WIDTHS.find(([ms]) => (now - first) / ms <= BUCKETS_MAX - 1) ?? [DAY, 'day'];
  const end = Math.floor(now / width);
  const begin = Math.max(Math.floor(first / width), end - BUCKETS_MAX + 1);
  const counts = new Array<number>(end - begin + 1).fill(0);
  for (const { at, count } of all) {
    const place = Math.min(Math.floor(at / width), end) - begin;
    if (place >= 0) counts[place] = (counts[place] ?? 0) + count;
  }
  const buckets = counts.map((count, place) => ({ from: (begin + place) * width, to: (begin + place + 1) * width, count }));
  return { each, buckets: isCut && buckets.length > 1 ? buckets.slice(1) : buckets };
}

/** A time of day, or for spans of days the date. */
export function clock(at: number, isDate: boolean): string {
  return new Date(at).toLocaleString(undefined, isDate ? { month: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit' });
}
