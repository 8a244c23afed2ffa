/** Usage against the limits, with the forecast. */

import type { Schemas } from '@kedge/sdk';
import { useLoading } from '../loading';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Bytes, Count, Fact, Facts, Hash, Stored, Time } from '../pieces/text';
import { reader } from '../session';

type Organization = Schemas['OwnOrganization'];

interface Limit {
  readonly name: string;
  readonly used: number;
  readonly most: number | null;
  readonly areBytes: boolean;
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

function LimitLine({ name, used, most, areBytes, forecast }: Limit) {
  const Amount = areBytes ? Bytes : Count;
  return (
    <li>
      <p class="row between">
        <strong>{name}</strong>
        <span>
          <Amount of={used} /> {most === null ? 'without a limit' : <>of <Amount of={most} /></>}
        </span>
      </p>
      {most === null ? null : <meter aria-label={name} min={0} max={most} high={most * 0.8} optimum={0} value={used} />}
      {forecast === null ? null : (
        <p class="faint">
          {forecast.exhausted_at === null ? (
            'At this rate it is not reached.'
          ) : (
            <>
              At this rate it is reached <Time at={forecast.exhausted_at} />.
            </>
          )}
          {forecast.resets_at ? (
            <>
              {' '}
              It resets <Time at={forecast.resets_at} />.
            </>
          ) : null}
        </p>
      )}
    </li>
  );
}

/** Usage. */
export function Usage() {
  const organization = useLoading(() => reader().getOwnOrganization(), []);
  return (
    <Page title="Usage">
      <Loaded of={organization}>
        {(of) => (
          <>
            <Facts>
              <Fact name="Organization">
                <Stored text={of.name} />
              </Fact>
              <Fact name="Id">
                <Hash value={of.id} whole />
              </Fact>
              <Fact name="Tier">{of.tier}</Fact>
              <Fact name="Price">{of.price}</Fact>
            </Facts>
            <Part title="Used, and what is left">
              <ul class="limits">
                {limitsOf(of).map((limit) => (
                  <LimitLine key={limit.name} {...limit} />
                ))}
              </ul>
              <button type="button" onClick={organization.reload} disabled={organization.isBusy}>
                Read again
              </button>
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
