/**
 * Charts as SVG, drawn in the size of their place. The figures of each are also in a table that can be opened. All
 * lengths are attributes and all colours classes, as the page's policy allows no inline style.
 */

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { axisEnd } from '../figures';

const HEIGHT = 132;
const TOP = 14;
const BOTTOM = 20;
const PLOT = HEIGHT - TOP - BOTTOM;
/** The width until the place is measured. */
const WIDTH = 480;

/** The width of an element. */
function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(WIDTH);
  useEffect(() => {
    if (place.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined && entry.contentRect.width > 0) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return [place, width] as const;
}

/** A bar of a chart. */
export interface Bar {
  readonly key: string;
  /** Its name in the table and when it is pointed at. */
  readonly name: string;
  /** Its name at the axis. */
  readonly tick: string;
  readonly value: number;
  /** More about it. */
  readonly note?: string;
}

interface ChartProps {
  readonly title: string;
  /** The figures in a sentence. */
  readonly summary: ComponentChildren;
  /** What the chart says without any data. */
  readonly none: string;
  /** Names of the table's columns. */
  readonly columns: readonly [name: string, value: string];
  /** A value as text. */
  readonly show?: (value: number) => string;
  /** The end of the axis of the values. */
  readonly endOf?: (most: number) => number;
}

const plain = (value: number): string => value.toLocaleString('en');

function Figure({ title, summary, children }: { title: string; summary: ComponentChildren; children: ComponentChildren }) {
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="faint">{summary}</span>
      </figcaption>
      {children}
    </figure>
  );
}

/** The width of a digit at the axis. */
const DIGIT = 6.4;

/** The space for the values at the axis. */
const gutterOf = (end: number, show: (value: number) => string): number => Math.ceil(Math.max(show(end).length, show(end / 2).length) * DIGIT) + 8;

function Grid({ left, width, end, show }: { left: number; width: number; end: number; show: (value: number) => string }) {
  return (
    <>
      {[end, end / 2, 0].map((value) => {
        const y = TOP + PLOT - (PLOT * value) / end;
        return (
          <g key={value}>
            <line class="grid" x1={left} x2={width} y1={y} y2={y} />
            {value === 0 ? null : (
              <text class="tick" x={left - 6} y={y + 4} text-anchor="end">
                {show(value)}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

/** Names at the axis: of the first, the middle and the last place. */
function Ticks({ left, width, names }: { left: number; width: number; names: readonly string[] }) {
  const last = names.length - 1;
  const shown: [place: number, anchor: string, x: number][] = [[0, 'start', left]];
  if (last >= 4) shown.push([Math.round(last / 2), 'middle', (left + width) / 2]);
  if (last >= 1) shown.push([last, 'end', width]);
  return (
    <>
      {shown.map(([place, anchor, x]) => (
        <text key={place} class="tick" x={x} y={HEIGHT - 5} text-anchor={anchor}>
          {names[place]}
        </text>
      ))}
    </>
  );
}

function Figures({ title, columns, rows }: { title: string; columns: readonly [string, string]; rows: readonly (readonly [key: string, name: string, value: string])[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="figures" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Figures<span class="unseen"> of “{title}”</span>
      </summary>
      {isOpen ? (
        <div class="scroll" role="region" aria-label={`Figures: ${title}`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{columns[0]}</th>
                <th scope="col" class="number">
                  {columns[1]}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map(([key, name, value]) => (
                <tr key={key}>
                  <td>{name}</td>
                  <td class="number">{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </details>
  );
}

/** Values as bars, oldest first. */
export function Bars({ title, summary, none, columns, bars, show = plain, endOf = axisEnd }: ChartProps & { bars: readonly Bar[] }) {
  const [place, width] = useWidth();
  const [pointed, setPointed] = useState<number | null>(null);
  if (bars.length === 0) {
    return (
      <Figure title={title} summary={null}>
        <p class="empty">{none}</p>
      </Figure>
    );
  }
  const end = endOf(Math.max(...bars.map(({ value }) => value)));
  const left = gutterOf(end, show);
  const step = (width - left) / bars.length;
  const gap = step > 5 ? 2 : 0.5;
  const wide = Math.min(step - gap, 28);
  const textOf = ({ name, value, note }: Bar): string => `${name}: ${show(value)}${note === undefined ? '' : `, ${note}`}`;
  const at = pointed === null ? undefined : bars[pointed];
  const values = bars.map(({ value }) => value);
  const label = `${title}: ${bars.length} values, from ${show(Math.min(...values))} to ${show(Math.max(...values))}, the newest ${show(values.at(-1) ?? 0)}`;
  const point = (event: PointerEvent): void => {
    const begin = (event.currentTarget as Element).getBoundingClientRect().left + left;
    setPointed(Math.max(0, Math.min(bars.length - 1, Math.floor((event.clientX - begin) / step))));
  };
  return (
    <Figure title={title} summary={at === undefined ? summary : textOf(at)}>
      <div ref={place} class="plot">
        <svg role="img" aria-label={label} width={width} height={HEIGHT} onPointerMove={point} onPointerDown={point} onPointerLeave={() => setPointed(null)}>
          <Grid left={left} width={width} end={end} show={show} />
          {bars.map(({ key, value }, index) => {
            const height = value === 0 ? 0 : Math.max((PLOT * value) / end, 2);
            return <rect key={key} class={index === pointed ? 'bar pointed' : 'bar'} x={left + index * step + (step - wide) / 2} y={TOP + PLOT - height} width={wide} height={height} rx={Math.min(2, wide / 2)} />;
          })}
          <Ticks left={left} width={width} names={bars.map(({ tick }) => tick)} />
        </svg>
      </div>
      <Figures title={title} columns={columns} rows={[...bars].reverse().map((bar) => [bar.key, bar.name, bar.note === undefined ? show(bar.value) : `${show(bar.value)} (${bar.note})`])} />
    </Figure>
  );
}

/** A place of a line. */
export interface Place {
  readonly at: number;
  readonly value: number;
}

/** Values over time as a line, with what is expected and a limit if there are any. */
export function Line({
  title,
  summary,
  none,
  columns,
  from,
  to,
  ticks,
  line,
  expected = [],
  limit = null,
  name,
  show = plain,
  endOf = axisEnd,
}: ChartProps & {
  from: number;
  to: number;
  ticks: readonly string[];
  line: readonly Place[];
  expected?: readonly Place[];
  limit?: number | null;
  /** A time as text. */
  name: (at: number) => string;
}) {
  const [place, width] = useWidth();
  const fill = useId();
  if (line.length < 2) {
    return (
      <Figure title={title} summary={null}>
        <p class="empty">{none}</p>
      </Figure>
    );
  }
  const end = endOf(Math.max(...[...line, ...expected].map(({ value }) => value), limit ?? 0));
  const left = gutterOf(end, show);
  const x = (at: number): number => left + ((width - left) * (at - from)) / Math.max(to - from, 1);
  const y = (value: number): number => TOP + PLOT - (PLOT * value) / end;
  const path = (places: readonly Place[]): string => places.map(({ at, value }, index) => `${index === 0 ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join('');
  const [first, last] = [line[0] as Place, line.at(-1) as Place];
  const values = line.map(({ value }) => value);
  const label = `${title}: from ${show(Math.min(...values))} to ${show(Math.max(...values))}, the newest ${show(last.value)}${limit === null ? '' : `; the limit is ${show(limit)}`}`;
  return (
    <Figure title={title} summary={summary}>
      <div ref={place} class="plot">
        <svg role="img" aria-label={label} width={width} height={HEIGHT}>
          <defs>
            <linearGradient id={fill} x1="0" x2="0" y1="0" y2="1">
              <stop class="area-top" offset="0" />
              <stop class="area-bottom" offset="1" />
            </linearGradient>
          </defs>
          <Grid left={left} width={width} end={end} show={show} />
          {limit === null ? null : <line class="limit" x1={left} x2={width} y1={y(limit)} y2={y(limit)} />}
          <path fill={`url(#${fill})`} d={`${path(line)}L${x(last.at).toFixed(1)} ${TOP + PLOT}L${x(first.at).toFixed(1)} ${TOP + PLOT}Z`} />
          <path class="line" d={path(line)} />
          {expected.length < 2 ? null : <path class="expected" d={path(expected)} />}
          <circle class="end" cx={x(last.at)} cy={y(last.value)} r={3} />
          <Ticks left={left} width={width} names={ticks} />
        </svg>
      </div>
      <Figures
        title={title}
        columns={columns}
        rows={[
          ...[...expected.slice(1)].reverse().map(({ at, value }) => [`e${at}`, `${name(at)}, expected`, show(Math.round(value))] as const),
          ...[...line].reverse().map(({ at, value }) => [String(at), name(at), show(value)] as const),
        ]}
      />
    </Figure>
  );
}

/** The used share of a limit as a bar, with the share that is expected at the end of the window. */
export function Share({ name, used, most, expected = null, text }: { name: string; used: number; most: number; expected?: number | null; text: string }) {
  const share = (value: number): number => (most === 0 ? 100 : Math.min((100 * value) / most, 100));
  const level = share(used) >= 95 ? 'full' : share(used) >= 80 ? 'near' : '';
  return (
    <div class="share" role="meter" aria-label={name} aria-valuemin={0} aria-valuemax={Math.max(most, used, 1)} aria-valuenow={used} aria-valuetext={text}>
      <svg aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none" width="100%" height="8">
        <rect class="track" width="100" height="8" />
        {expected === null ? null : <rect class="coming" width={share(expected)} height="8" />}
        <rect class={`used ${level}`} width={used === 0 ? 0 : Math.max(share(used), 0.6)} height="8" />
      </svg>
    </div>
  );
}
