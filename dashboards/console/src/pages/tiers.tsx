/** Operator's view of tiers: limits, members, organizations near a limit, and the forms of log storage. */

import { useState } from 'preact/hooks';
import { neededOf, textOf } from '../fields';
import { useDoing } from '../loading';
import { send, useWatched } from '../operator';
import { Bars, Share } from '../pieces/charts';
import { Choice, Field, Form } from '../pieces/forms';
import { type Column, Table } from '../pieces/lists';
import { Fault } from '../pieces/notices';
import { Part } from '../pieces/page';
import { Bytes, Copy, Count, Hash, Stored, Time } from '../pieces/text';

const LIMITS = [
  ['requests_per_minute', 'Requests a minute'],
  ['requests_per_day', 'Requests a day'],
  ['object_writes_per_minute', 'Objects written a minute'],
  ['action_batches_per_minute', 'Batches of actions a minute'],
  ['file_uploads_per_minute', 'Files uploaded a minute'],
  ['template_writes_per_minute', 'Templates written a minute'],
  ['list_reads_per_minute', 'Lists read a minute'],
  ['log_bytes', 'Bytes in the log'],
] as const;

type LimitName = (typeof LIMITS)[number][0];

interface Tier {
  readonly tier: string;
  readonly price: string;
  readonly organizations: number;
  /** Null for the custom tier, in which each organization has different limits. */
  readonly limits: Readonly<Record<LimitName, number | null>> | null;
}

interface Nearest {
  readonly organization_id: string;
  readonly name: string;
  readonly tier: string;
  readonly policy: string;
  readonly used: number;
  readonly limit: number;
}

interface Segments {
  readonly segments: number;
  readonly bytes: number;
}

/** Answer of the command `tiers`. */
interface Overview {
  readonly organizations: number;
  readonly all_counted: boolean;
  readonly counted_at: string;
  readonly tiers: readonly Tier[];
  readonly nearest: readonly Nearest[];
  readonly log: {
    readonly raw: Segments;
    readonly sealed: Segments & { readonly uncompressed_bytes: number };
    readonly archived: Segments & { readonly place: string | null };
    readonly store_bytes: number;
  };
}

/** Interval of requests for the tiers. The server counts organizations at most once a minute. */
const INTERVAL_MS = 10_000;

/** Names of the limits, by policy. */
const POLICIES: Record<string, string> = {
  'tier-minute': 'Requests a minute',
  'tier-day': 'Requests a day',
  'object-writes': 'Objects written a minute',
  'action-batches': 'Batches of actions a minute',
  'file-uploads': 'Files uploaded a minute',
  'template-writes': 'Templates written a minute',
  'list-reads': 'Lists read a minute',
  'log-bytes': 'Bytes in the log',
};

function limitOf({ limits }: Tier, name: LimitName) {
  if (limits === null) return <span class="faint">as agreed</span>;
  const limit = limits[name];
  if (limit === null) return <span class="faint">unlimited</span>;
  return name === 'log_bytes' ? <Bytes of={limit} /> : <Count of={limit} />;
}

const TIERS: readonly Column<Tier>[] = [
  { name: 'Tier', show: ({ tier }) => tier },
  { name: 'Organizations', show: ({ organizations }) => <Count of={organizations} />, isNumber: true },
  { name: 'Requests a minute', show: (tier) => limitOf(tier, 'requests_per_minute'), isNumber: true },
  { name: 'Requests a day', show: (tier) => limitOf(tier, 'requests_per_day'), isNumber: true },
  { name: 'In the log', show: (tier) => limitOf(tier, 'log_bytes'), isNumber: true },
  { name: 'Price', show: ({ price }) => price },
];

function Used({ name, policy, used, limit }: Nearest) {
  const what = POLICIES[policy] ?? policy;
  const Amount = policy === 'log-bytes' ? Bytes : Count;
  return (
    <>
      <p class="row between">
        <span>{what}</span>
        <span>
          <Amount of={used} /> of <Amount of={limit} />
        </span>
      </p>
      <Share name={`${what} of ${name}`} used={used} most={limit} text={`${used} of ${limit}`} />
    </>
  );
}

const NEAREST: readonly Column<Nearest>[] = [
  { name: 'Organization', show: ({ name }) => <Stored text={name} /> },
  {
    name: 'Id',
    show: ({ organization_id: id, name }) => (
      <>
        <Hash value={id} /> <Copy text={id} what={`the id of ${name}`} />
      </>
    ),
  },
  { name: 'Tier', show: ({ tier }) => tier },
  { name: 'Used', show: (organization) => <Used {...organization} /> },
];

interface Kept extends Segments {
  readonly name: string;
  readonly note: string;
}

const FORMS: readonly Column<Kept>[] = [
  { name: 'Kept as', show: ({ name }) => name },
  { name: 'Segments', show: ({ segments }) => <Count of={segments} />, isNumber: true },
  { name: 'Bytes', show: ({ bytes }) => <Bytes of={bytes} />, isNumber: true },
  { name: 'Note', show: ({ note }) => (note === '' ? null : <Stored text={note} />) },
];

function formsOf({ raw, sealed, archived }: Overview['log']): Kept[] {
  const ratio = sealed.bytes === 0 ? '' : `${(sealed.uncompressed_bytes / sealed.bytes).toFixed(1)} times as much uncompressed`;
  return [
    { name: 'raw', ...raw, note: 'the open segment, and those to be sealed' },
    { name: 'sealed', ...sealed, note: ratio },
    { name: 'archived', ...archived, note: archived.place ?? '' },
  ];
}

function Counted({ of }: { of: Overview }) {
  return (
    <>
      <Table label="Tiers and their limits" columns={TIERS} items={of.tiers} keyOf={({ tier }) => tier} />
      <p class="faint">
        <Count of={of.organizations} /> {of.organizations === 1 ? 'organization' : 'organizations'}, counted <Time at={of.counted_at} />
        {of.all_counted ? '.' : '; there are more: these are a sample.'}
      </p>
    </>
  );
}

function TierForm({ token, onSet }: { token: string; onSet: () => void }) {
  const [tier, setTier] = useState('free');
  const doing = useDoing(async (form: FormData) => {
    const limits: Record<string, number> = {};
    for (const [name, label] of LIMITS) {
      const text = tier === 'custom' ? textOf(form, name) : null;
      if (text === null) continue;
      if (!Number.isSafeInteger(Number(text)) || Number(text) < 0) throw new Error(`“${label}” must be a whole number.`);
      limits[name] = Number(text);
    }
    const organization = neededOf(form, 'organization_id', 'Organization');
    const { sequence } = await send<{ sequence: number }>(token, { command: 'tier', organization_id: organization, tier, limits });
    onSet();
    return `The organization has the tier ${tier} from sequence ${sequence} on.`;
  });
  return (
    <Form label="Set a tier" submit="Set it" doing={doing} onEmptied={() => setTier('free')}>
      <Field label="Organization" name="organization_id" required placeholder="org_…" />
      <Choice
        label="Tier"
        name="tier"
        value={tier}
        onChange={(event) => setTier(event.currentTarget.value)}
        options={['free', 'developer', 'enterprise', 'custom'].map((name) => [name, name] as const)}
      />
      {tier === 'custom' ? LIMITS.map(([name, label]) => <Field key={name} label={`${label}; none if empty`} name={name} inputMode="numeric" />) : null}
    </Form>
  );
}

/** Tiers of organizations, and the forms of log storage. */
export function Tiers({ token }: { token: string }) {
  const { value, error, again } = useWatched<Overview>(token, 'tiers', INTERVAL_MS);
  return (
    <>
      <Part title="Tiers">
        <Fault error={error} />
        {value === null ? null : <Counted of={value} />}
      </Part>
      {value === null ? null : (
        <Part title="Nearest to a limit">
          {value.nearest.length === 0 ? (
            <p class="empty">No organization has used any of its limits.</p>
          ) : (
            <>
              <div class="charts">
                <Bars
                  title="Used of the nearest limit"
                  summary={`by ${value.nearest.length === 1 ? '1 organization' : `${value.nearest.length} organizations`}, the nearest first`}
                  none=""
                  columns={['Organization', 'Used']}
                  bars={value.nearest.map(({ organization_id: id, name, used, limit, policy }, place) => ({
                    key: id,
                    name,
                    tick: String(place + 1),
                    value: limit === 0 ? 100 : Math.round((100 * used) / limit),
                    note: POLICIES[policy] ?? policy,
                  }))}
                  show={(percent) => `${percent} %`}
                />
              </div>
              <Table label="Organizations nearest to a limit" columns={NEAREST} items={value.nearest} keyOf={({ organization_id: id }) => id} />
            </>
          )}
        </Part>
      )}
      <Part title="Set a tier">
        <TierForm token={token} onSet={again} />
      </Part>
      {value === null ? null : (
        <Part title="The log on the disk">
          <Table label="How the log is kept" columns={FORMS} items={formsOf(value.log)} keyOf={({ name }) => name} />
          <p class="faint">
            Next to it, the store takes <Bytes of={value.log.store_bytes} />; it can be made from the log again.
          </p>
        </Part>
      )}
    </>
  );
}
