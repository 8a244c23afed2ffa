/** Usage against the limits, with the forecast. */

import type { Schemas } from '@kedge/sdk';
import { now } from '../clock';
import { bucketed, clock } from '../figures';
import { useLoading } from '../loading';
import { Bars, Line, Share } from '../pieces/charts';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Ago } from '../pieces/ago';
import { Bytes, Copy, Count, Fact, Facts, Hash, Stored } from '../pieces/text';
import { reader } from '../session';

type Organization = Schemas['OwnOrganization'];

interface Limit {
  readonly name: string;
  readonly used: number;
  readonly most: number | null;
  readonly areBytes: boolean;
  /** Null without a limit. */
  readonly forecast: { readonly exhausted_at: string | null; readonly resets_at?: string } | null;
}

function limitsOf({ limits, usage, forecast }: Organization): Limit[] {
  const { minute, day, log_bytes: bytes } = usage;
  const of = (name: string, used: number, key: keyof Schemas['LimitsView'] & keyof Schemas['ForecastView']): Limit => ({
    name,
    used,
    most: limits[key],
    areBytes: key === 'log_bytes',
    forecast: forecast[key],
  });
  return [
    of('Requests this minute', minute.requests, 'requests_per_minute'),
    of('Requests today (UTC)', day.requests, 'requests_per_day'),
    of('Objects written this minute', minute.object_writes, 'object_writes_per_minute'),
    of('Batches of actions this minute', minute.action_batches, 'action_batches_per_minute'),
    of('Templates written this minute', minute.template_writes, 'template_writes_per_minute'),
    of('Lists read this minute', minute.list_reads, 'list_reads_per_minute'),
    of('Files uploaded this minute', minute.file_uploads, 'file_uploads_per_minute'),
    of('Bytes in the log', bytes, 'log_bytes'),
  ];
}

/** Milliseconds of a UTC day. */
const DAY_MS = 86_400_000;

/** What the window's use comes to at its end, if it goes on as since the window began. */
function expectedOf({ used, most, forecast }: Limit, ms: number): number | null {
  if (forecast === null || most === null || ms === 0) return null;
  if (forecast.exhausted_at !== null) return most;
  if (forecast.resets_at === undefined) return null;
  const left = Date.parse(forecast.resets_at) - ms;
  const window = left > 60_000 ? DAY_MS : 60_000;
  const gone = window - left;
  return gone < window / 60 || gone > window ? null : Math.min((used * window) / gone, most);
}

function LimitLine(limit: Limit) {
  const { name, used, most, areBytes, forecast } = limit;
  const Amount = areBytes ? Bytes : Count;
  const share = most === null || most === 0 ? null : (100 * used) / most;
  const percent = share === null ? '' : `${share > 0 && share < 1 ? 'under 1' : Math.round(share)} %`;
  return (
    <li>
      <p class="row between">
        <strong>{name}</strong>
        <span>
          <Amount of={used} /> {most === null ? 'without a limit' : <>of <Amount of={most} /></>}
        </span>
      </p>
      {most === null ? null : <Share name={name} used={used} most={most} expected={expectedOf(limit, now.value)} text={`${percent} used`} />}
      {forecast === null ? null : (
        <p class="faint">
          {percent} used.{' '}
          {forecast.exhausted_at === null ? (
            'At this rate it is not reached.'
          ) : (
            <>
              At this rate it is reached <Ago at={forecast.exhausted_at} />.
            </>
          )}
          {forecast.resets_at ? (
            <>
              {' '}
              It resets <Ago at={forecast.resets_at} />.
            </>
          ) : null}
        </p>
      )}
    </li>
  );
}

/** The day’s requests, and what they come to at this rate. The server tells their number now, so the line is the average. */
function Today({ of: { usage, limits, forecast } }: { of: Organization }) {
  const used = usage.day.requests;
  const at = now.value;
  const from = Math.floor(at / DAY_MS) * DAY_MS;
  const to = from + DAY_MS;
  const limit = limits.requests_per_day;
  const rate = used / Math.max(at - from, 1);
  const exhausted = forecast.requests_per_day?.exhausted_at ?? null;
  const end = exhausted === null || limit === null ? { at: to, value: Math.round(rate * DAY_MS) } : { at: Math.min(Date.parse(exhausted), to), value: limit };
  const time = (ms: number): string => `${clock(ms, false)}`;
  return (
    <Line
      title="Requests today (UTC)"
      summary={
        exhausted === null
          ? `${used.toLocaleString('en')} so far; about ${end.value.toLocaleString('en')} by the end of the day at this rate`
          : `${used.toLocaleString('en')} so far; at this rate the limit is reached at ${time(end.at)}`
      }
      none="No request was sent today."
      columns={['Time', 'Requests']}
      from={from}
      to={to}
      ticks={[time(from), '', '', '', time(to)]}
      line={[
        { at: from, value: 0 },
        { at: Math.max(at, from + 1), value: used },
      ]}
      expected={[{ at, value: used }, end]}
      limit={limit}
      name={time}
    />
  );
}

/** Actions that the chart of the organization’s own actions counts: one request. */
const ACTIONS = 500;

function OwnActions() {
  const state = useLoading(async () => reader().listActions({ limit: ACTIONS, order: 'desc' }), []);
  return (
    <Loaded of={state}>
      {({ items, has_more: isCut }) => {
        const happened = items.map(({ timestamp }) => ({ at: Date.parse(timestamp), count: 1 }));
        const { each, buckets } = bucketed(happened, now.value, isCut);
        const isDate = each === 'day';
        return (
          <Bars
            title={`Your actions per ${each}`}
            summary={`${isCut ? 'the newest ' : ''}${items.length.toLocaleString('en')} of your organization`}
            none="Your organization has done nothing yet."
            columns={['From', 'Actions']}
            bars={items.length === 0 ? [] : buckets.map(({ from, count }) => ({ key: String(from), name: clock(from, isDate), tick: clock(from, isDate), value: count }))}
          />
        );
      }}
    </Loaded>
  );
}

/** Usage. */
export function Usage() {
  const organization = useLoading(() => reader().getOwnOrganization(), []);
  return (
    <Page title="Usage" lead="What your organization has used of its limits, and when they would be reached at this rate.">
      <Loaded of={organization}>
        {(of) => (
          <>
            <div class="charts">
              <Today of={of} />
              <OwnActions />
            </div>
            <Part title="Used, and what is left">
              <ul class="limits">
                {limitsOf(of).map((limit) => (
                  <LimitLine key={limit.name} {...limit} />
                ))}
              </ul>
              <p class="faint">The pale part of a bar is what the window comes to at its end, at this rate. Minutes and UTC days are counted; the log’s bytes stay.</p>
              <button type="button" onClick={organization.reload} disabled={organization.isBusy}>
                Read again
              </button>
            </Part>
            <Part title="Your organization">
              <Facts>
                <Fact name="Organization">
                  <Stored text={of.name} />
                </Fact>
                <Fact name="Id">
                  <Hash value={of.id} whole /> <Copy text={of.id} what="the organization’s id" />
                </Fact>
                <Fact name="Tier">{of.tier}</Fact>
                <Fact name="Price">{of.price}</Fact>
              </Facts>
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
