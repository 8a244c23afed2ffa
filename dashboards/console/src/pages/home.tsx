/** Overview: state of the service, and first steps. */

import { ServerError } from '@kedge/sdk';
import { useLoading } from '../loading';
import { Loaded, Notice } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Count, Fact, Facts, Hash, State, Time } from '../pieces/text';
import { login, reader } from '../session';

/** Formats seconds for people. */
const lasting = (seconds: number): string => (seconds < 120 ? `${seconds} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`);

function Service() {
  const state = useLoading(async () => {
    const client = reader();
    // Not ready is an answer too: its body has the reason.
    const ready = fetch('/readyz').then(async (answer) => (await answer.json()) as Awaited<ReturnType<typeof client.getReadiness>>);
    const newest = client.getCheckpoint().catch((error: unknown) => {
      if (error instanceof ServerError && error.code === 'SEQUENCE_NOT_REACHED') return null;
      throw error;
    });
    return Promise.all([ready, newest, client.getDomain(), client.getVersion()]);
  }, []);
  return (
    <Loaded of={state}>
      {([ready, newest, domain, { version }]) => (
        <>
          {ready.reason ? <Notice kind="bad">The service accepts no changes: {ready.reason}</Notice> : null}
          <Facts>
            <Fact name="State">
              <State of={ready.status} />
            </Fact>
            <Fact name="Actions">
              <Count of={ready.sequence} />
            </Fact>
            <Fact name="Batches">
              <a href="#/batches">
                <Count of={ready.batches} />
              </a>
            </Fact>
            <Fact name="Final on the chain">
              <a href="#/anchors">
                <Count of={ready.anchoring.finalized_batches} />
              </a>
              {ready.anchoring.lag_batches > 0 ? ` of ${ready.batches} batches; the oldest other one is ${lasting(ready.anchoring.lag_s)} old` : ' batches: all'}
            </Fact>
            <Fact name="Head">
              <Hash value={ready.head} />
            </Fact>
            <Fact name="Newest checkpoint">
              {newest === null ? (
                'none yet'
              ) : (
                <>
                  <Time at={newest.checkpoint.issued_at_ms} />, over <Count of={newest.checkpoint.batches} /> batches
                </>
              )}
            </Fact>
            <Fact name="Chain">{String(domain.chainId)}</Fact>
            <Fact name="Contract">
              <Hash value={domain.verifyingContract} />
            </Fact>
            <Fact name="Sequencer">
              <Hash value={domain.sequencer} />
            </Fact>
            <Fact name="Version">{version}</Fact>
          </Facts>
        </>
      )}
    </Loaded>
  );
}

/** The overview. */
export function Home() {
  const { value } = login;
  return (
    <Page title="Overview" lead="Kedge puts signed actions in one order, makes them durable, and proves what it did. You need not believe it: check.">
      <div class="cards">
        {value === null ? (
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
      <Part title="The service">
        <Service />
      </Part>
    </Page>
  );
}
