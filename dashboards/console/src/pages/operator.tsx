/**
 * Operator page: head, lag, queue and tiers, over the listener of `operator_page_listen`. Its token is only in memory.
 */

import type { Schemas } from '@kedge/sdk';
import { useEffect, useState } from 'preact/hooks';
import { neededOf } from '../fields';
import { useDoing } from '../loading';
import { send, useWatched } from '../operator';
import { Line, Share } from '../pieces/charts';
import { Field, Form, Outcome } from '../pieces/forms';
import { Fault, Notice } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Count, Fact, Facts, Hash, State, Stored, Time } from '../pieces/text';
import { Tiers } from './tiers';

/** Answer of the operator's commands. */
interface Status {
  readonly version: string;
  readonly mode: string;
  readonly reason: string | null;
  readonly disk_full: boolean;
  readonly requests_under_way: number;
  readonly requests_max: number;
  readonly url: string;
  readonly chain_id: number;
  readonly domain_contract: string;
  readonly sequencer: string | null;
  readonly batches: number;
  readonly sequence: number;
  readonly head: string;
  readonly anchor_interval_s: number;
  /** Absent on a node that lacks a part of the log. */
  readonly batches_not_anchored?: number;
  readonly last_anchor: Schemas['AnchorView'] | null;
  readonly node?: { readonly endpoint: string; readonly reachable: boolean; readonly unreachable_s: number | null; readonly error: string | null };
}

/** Interval of status requests. */
const INTERVAL_MS = 2_000;

function Standing({ status }: { status: Status }) {
  const { node, last_anchor: anchor } = status;
  return (
    <>
      {status.mode === 'read_write' && !status.disk_full ? null : (
        <Notice kind="bad">The service accepts no changes: {status.disk_full ? 'the disk is full' : <Stored text={status.reason ?? status.mode} />}</Notice>
      )}
      <Part title="Head">
        <Facts>
          <Fact name="Mode">
            <State of={status.mode} />
          </Fact>
          <Fact name="Sequence">
            <Count of={status.sequence} />
          </Fact>
          <Fact name="Batches">
            <Count of={status.batches} />
          </Fact>
          <Fact name="Head">
            <Hash value={status.head} whole />
          </Fact>
          <Fact name="Sequencer">{status.sequencer === null ? 'unknown' : <Hash value={status.sequencer} whole />}</Fact>
          <Fact name="Version">{status.version}</Fact>
        </Facts>
      </Part>
      <Part title="Lag of the chain">
        <Facts>
          <Fact name="Not anchored">
            {status.batches_not_anchored === undefined ? (
              'unknown: this node lacks a part of the log'
            ) : (
              <>
                <Count of={status.batches_not_anchored} /> batches
              </>
            )}
          </Fact>
          <Fact name="Anchored every">{status.anchor_interval_s} s</Fact>
          <Fact name="Last anchor">
            {anchor === null ? (
              'none yet'
            ) : (
              <>
                number {anchor.number}, <State of={anchor.status} />, <Time at={anchor.issued_at} />
              </>
            )}
          </Fact>
          {node === undefined ? null : (
            <Fact name="Node">
              <Stored text={node.endpoint} /> <State of={node.reachable ? 'ready' : 'failed'} /> {node.error === null ? null : <Stored text={node.error} />}
            </Fact>
          )}
        </Facts>
      </Part>
      <Part title="Queue">
        <p class="row between">
          <span>Signed requests in flight</span>
          <span>
            <Count of={status.requests_under_way} /> of <Count of={status.requests_max} />
          </span>
        </p>
        <Share name="Signed requests in flight" used={status.requests_under_way} most={status.requests_max} text={`${status.requests_under_way} of ${status.requests_max}`} />
      </Part>
    </>
  );
}

/** A status, and when it arrived. */
interface Sample {
  readonly at: number;
  readonly status: Status;
}

/** Samples that are kept: ten minutes. */
const SAMPLES_MAX = 300;

const time = (at: number): string => new Date(at).toLocaleTimeString();

/** The samples since the page was opened. */
function useSamples(status: Status | null): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (status !== null) setSamples((old) => [...old, { at: Date.now(), status }].slice(-SAMPLES_MAX));
  }, [status]);
  return samples;
}

function Course({ samples }: { samples: readonly Sample[] }) {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return null;
  const chart = { from: first.at, to: last.at, ticks: [time(first.at), '', '', '', time(last.at)], columns: ['Time', 'Number'] as const, name: time };
  const rate = ((last.status.sequence - first.status.sequence) * 1_000) / Math.max(last.at - first.at, 1);
  return (
    <div class="charts">
      <Line
        {...chart}
        title="In flight"
        summary={`now ${last.status.requests_under_way} of ${last.status.requests_max}`}
        none="It shows after a few seconds."
        line={samples.map(({ at, status }) => ({ at, value: status.requests_under_way }))}
      />
      <Line
        {...chart}
        title="Batches not anchored"
        summary={last.status.batches_not_anchored === undefined ? 'this node lacks a part of the log' : `now ${last.status.batches_not_anchored}`}
        none={last.status.batches_not_anchored === undefined ? 'It cannot be counted here.' : 'It shows after a few seconds.'}
        line={samples.flatMap(({ at, status }) => (status.batches_not_anchored === undefined ? [] : [{ at, value: status.batches_not_anchored }]))}
      />
      <Line
        {...chart}
        title="Actions since the page was opened"
        summary={samples.length < 2 ? null : `${rate.toFixed(rate < 10 ? 1 : 0)} a second`}
        none="It shows after a few seconds."
        line={samples.map(({ at, status }) => ({ at, value: status.sequence - first.status.sequence }))}
      />
    </div>
  );
}

function Watching({ token, onLeave }: { token: string; onLeave: () => void }) {
  const { value: status, error } = useWatched<Status>(token, 'status', INTERVAL_MS);
  const samples = useSamples(status);
  const anchoring = useDoing(async () => {
    await send(token, { command: 'anchor_now' });
    return 'The newest checkpoint is being anchored.';
  });
  return (
    <>
      <Fault error={error} />
      {status === null ? null : <Standing status={status} />}
      <Course samples={samples} />
      <p class="row">
        <button type="button" disabled={anchoring.isBusy} onClick={() => void anchoring.run()}>
          Anchor now
        </button>
        <button type="button" onClick={onLeave}>
          Forget the token
        </button>
      </p>
      <Outcome of={anchoring as never} />
      <Tiers token={token} />
    </>
  );
}

/** The operator's page. */
export function Operator() {
  const [token, setToken] = useState<string | null>(null);
  const opening = useDoing(async (form: FormData) => {
    const given = neededOf(form, 'token', 'Token');
    await send(given, { command: 'status' });
    setToken(given);
  });
  return (
    <Page title="Operator" lead="For who runs the server, on the server’s machine alone.">
      {token === null ? (
        <Form label="Open the page" submit="Open" doing={opening}>
          <Field label="Token" name="token" type="password" required hint="It is in keys/operator-page.token of the server’s data directory." />
        </Form>
      ) : (
        <Watching token={token} onLeave={() => setToken(null)} />
      )}
    </Page>
  );
}
