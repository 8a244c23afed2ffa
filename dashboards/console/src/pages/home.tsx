/** Overview: what the service does now, and first steps. */

import { ServerError } from '@kedge/sdk';
import type { ComponentChildren } from 'preact';
import { now } from '../clock';
import { bucketed, clock, durationEnd, lasting, relative } from '../figures';
import { useLoading } from '../loading';
import { Bars } from '../pieces/charts';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Short } from '../pieces/rows';
import { Count, Fact, Facts, State, Time } from '../pieces/text';
import { login, reader } from '../session';
import { type Ready, readReady, ready } from '../standing';

/** Batches and anchors in the charts: one request for each. */
const BATCHES = 100;
const ANCHORS = 40;
/** Batches in the chart of single batches. */
const BARS = 50;

const actions = (count: number): string => (count === 1 ? '1 action' : `${count.toLocaleString('en')} actions`);
const batchesOf = (count: number): string => (count === 1 ? '1 batch' : `${count.toLocaleString('en')} batches`);

function Tile({ name, children, note }: { name: string; children: ComponentChildren; note: ComponentChildren }) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        <span class="value">{children}</span>
        <span class="faint">{note}</span>
      </dd>
    </div>
  );
}

function Tiles({ of }: { of: Ready }) {
  const { anchoring } = of;
  return (
    <dl class="tiles">
      <Tile name="State" note={of.status === 'ready' ? 'accepts changes' : 'reading works'}>
        <State of={of.status} />
      </Tile>
      <Tile name="Actions" note="in the log">
        <Count of={of.sequence} />
      </Tile>
      <Tile name="Batches" note={of.batches === 0 ? 'none is signed yet' : `signed; the newest is ${of.batches - 1}`}>
        <Count of={of.batches} />
      </Tile>
      <Tile
        name="Final on the chain"
        note={anchoring.lag_batches === 0 ? 'all of them' : `${batchesOf(anchoring.lag_batches)} not yet; the oldest is ${lasting(anchoring.lag_s * 1_000)} old`}
      >
        <Count of={anchoring.finalized_batches} />
      </Tile>
      <Tile name="In flight" note={`of at most ${of.requests_max.toLocaleString('en')} changes`}>
        <Count of={of.requests_under_way} />
      </Tile>
    </dl>
  );
}

function BatchCharts() {
  const state = useLoading(async () => reader().listBatches({ limit: BATCHES, order: 'desc' }), []);
  return (
    <Loaded of={state}>
      {({ items, has_more: isCut }) => {
        const batches = [...items].reverse();
        const happened = batches.map(({ sealed_at_ms: at, action_count: count }) => ({ at, count }));
        const { each, buckets } = bucketed(happened, now.value, isCut);
        const isDate = each === 'day';
        const newest = items[0];
        const last = batches.slice(-BARS);
        const most = Math.max(...last.map(({ action_count: count }) => count));
        return (
          <>
            <Bars
              title={`Actions per ${each}`}
              summary={`${actions(happened.reduce((sum, { count }) => sum + count, 0))} in the last ${batchesOf(batches.length)}`}
              none="No action is in the log yet."
              columns={['From', 'Actions']}
              bars={
                newest === undefined
                  ? []
                  : buckets.map(({ from, count }) => ({ key: String(from), name: clock(from, isDate), tick: clock(from, isDate), value: count }))
              }
            />
            <Bars
              title="Actions per batch"
              summary={newest === undefined ? null : `at most ${most} in the last ${last.length}; the newest is ${relative(newest.sealed_at_ms, now.value)}`}
              none="No batch is sealed yet. The first follows the first action."
              columns={['Batch', 'Actions']}
              bars={last.map(({ number, action_count: value, sealed_at_ms: at }) => ({
                key: String(number),
                name: `Batch ${number}`,
                tick: String(number),
                value,
                note: relative(at, now.value),
              }))}
            />
          </>
        );
      }}
    </Loaded>
  );
}

function AnchorCharts() {
  const state = useLoading(async () => reader().listAnchors({ limit: ANCHORS, order: 'desc' }), []);
  return (
    <Loaded of={state}>
      {({ items }) => {
        const anchors = [...items].reverse();
        const newest = items[0];
        const gaps = anchors.slice(1).map((anchor, place) => ({ anchor, ms: anchor.issued_at_ms - (anchors[place]?.issued_at_ms ?? 0) }));
        const mean = gaps.reduce((sum, { ms }) => sum + ms, 0) / Math.max(gaps.length, 1);
        return (
          <>
            <Bars
              title="Batches per anchor"
              summary={newest === undefined ? null : `the newest is ${newest.status}, ${relative(newest.issued_at_ms, now.value)}`}
              none="Nothing is anchored yet."
              columns={['Anchor', 'Batches']}
              bars={anchors.map(({ number, first_batch: first, last_batch: last, status }) => ({
                key: String(number),
                name: `Anchor ${number}`,
                tick: String(number),
                value: last === null ? 0 : last - first + 1,
                note: status,
              }))}
            />
            <Bars
              title="Time between anchors"
              summary={gaps.length === 0 ? null : `${lasting(mean)} on average`}
              none="It shows from the second anchor on."
              columns={['Anchor', 'After the one before']}
              bars={gaps.map(({ anchor: { number }, ms }) => ({ key: String(number), name: `Anchor ${number}`, tick: String(number), value: ms }))}
              show={lasting}
              endOf={durationEnd}
            />
          </>
        );
      }}
    </Loaded>
  );
}

function Service() {
  const state = useLoading(() => {
    const client = reader();
    const newest = client.getCheckpoint().catch((error: unknown) => {
      if (error instanceof ServerError && error.code === 'SEQUENCE_NOT_REACHED') return null;
      throw error;
    });
    return Promise.all([newest, client.getDomain(), client.getVersion()]);
  }, []);
  return (
    <Loaded of={state}>
      {([newest, domain, { version }]) => (
        <Facts>
          <Fact name="Newest checkpoint">
            {newest === null ? (
              'none yet'
            ) : (
              <>
                <Time at={newest.checkpoint.issued_at_ms} />, over <Count of={newest.checkpoint.batches} /> batches
              </>
            )}
          </Fact>
          {ready.value === null ? null : (
            <Fact name="Head">
              <Short value={ready.value.head} what="the head" />
            </Fact>
          )}
          <Fact name="Chain">{String(domain.chainId)}</Fact>
          <Fact name="Contract">
            <Short value={domain.verifyingContract} what="the contract’s address" />
          </Fact>
          <Fact name="Sequencer">
            <Short value={domain.sequencer} what="the sequencer’s address" />
          </Fact>
          <Fact name="Version">{version}</Fact>
        </Facts>
      )}
    </Loaded>
  );
}

/** First steps. */
function Steps() {
  return (
    <div class="cards">
      {login.value === null ? (
        <>
          <a class="card" href="#/register">
            <strong>Register</strong> Make a wallet with a key of your own.
          </a>
          <a class="card" href="#/login">
            <strong>Log in</strong> See the objects of your organization.
          </a>
        </>
      ) : (
        <>
          <a class="card" href="#/objects">
            <strong>Objects</strong> Find one, and see all that happened to it.
          </a>
          <a class="card" href="#/templates">
            <strong>Templates</strong> Define objects, and mint them.
          </a>
          <a class="card" href="#/events">
            <strong>Live events</strong> Watch what happens now.
          </a>
        </>
      )}
      <a class="card" href="#/check">
        <strong>Check it yourself</strong> Verify a receipt, a proof or a claim in this page.
      </a>
      <a class="card" href="#/batches">
        <strong>Walk the log</strong> Batch by batch, each linked to the one before.
      </a>
    </div>
  );
}

/** The overview. */
export function Home() {
  const state = useLoading(readReady, []);
  return (
    <Page title="Overview" lead="Kedge puts signed actions in one order, makes them durable, and proves what it did. You need not believe it: check.">
      <Loaded of={state}>{(first) => <Tiles of={ready.value ?? first} />}</Loaded>
      <Steps />
      <div class="charts">
        <BatchCharts />
        <AnchorCharts />
      </div>
      <Part title="The service">
        <Service />
      </Part>
    </Page>
  );
}
