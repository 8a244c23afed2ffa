/** Actions: the organization's list, newest first, and a single action with its proof. */

import { writeJson } from '@kedge/sdk';
import { useLocation } from 'wouter-preact';
import { handOver } from '../check/handed';
import { saveAs } from '../saving';
import { useDoing, useLoading, usePaging } from '../loading';
import { List } from '../pieces/lists';
import { Outcome } from '../pieces/forms';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Copy, Count, Fact, Facts, Hash, Json, Ref, Stored, Time } from '../pieces/text';
import { reader } from '../session';

/** The actions of the organization. */
export function Actions() {
  const actions = usePaging(() => reader().listActions({ limit: 50, order: 'desc' }), []);
  return (
    <Page title="Actions" lead="Every change that your organization made, as it is in the log.">
      <List
        label="Actions"
        of={actions}
        keyOf={({ id }) => id}
        none="There are no actions yet."
        columns={[
          { name: 'Sequence', show: ({ sequence }) => <Count of={sequence} /> },
          { name: 'Kind', show: ({ id, action_type: kind }) => <a href={`#/actions/${id}`}>{kind}</a> },
          { name: 'Acted on', show: ({ resource_id: id }) => <Ref id={id} /> },
          { name: 'Signer', show: ({ signer }) => <Hash value={signer} /> },
          { name: 'Time', show: ({ timestamp }) => <Time at={timestamp} /> },
        ]}
      />
    </Page>
  );
}

/** One action. */
export function OneAction({ id }: { id: string }) {
  const [, go] = useLocation();
  const action = useLoading(() => reader().getAction(id), [id]);
  // Numbers above 2^53 keep all digits.
  const proof = async (form: 'inclusion' | 'authorship'): Promise<string> => writeJson(await reader().getActionProof(id, { form }));
  const doing = useDoing(async (what: 'check' | 'receipt' | 'inclusion' | 'authorship') => {
    if (what === 'check') {
      handOver(`proof of ${id}.json`, await proof('authorship'));
      go('/check');
    } else if (what === 'receipt') {
      saveAs(`receipt-${id}.json`, writeJson(action.value?.receipt ?? null));
    } else {
      saveAs(`proof-${id}.json`, await proof(what));
    }
  });
  return (
    <Page title="Action">
      <Loaded of={action}>
        {(of) => (
          <>
            <Facts>
              <Fact name="Kind">
                <Stored text={of.action_type} />
              </Fact>
              <Fact name="Id">
                <Hash value={of.id} whole /> <Copy text={of.id} what="the id" />
              </Fact>
              <Fact name="Target">{of.target === '' ? <span class="faint">none</span> : <Stored text={of.target} />}</Fact>
              <Fact name="Acted on">
                <Ref id={of.resource_id} /> version <Count of={of.object_version} />
              </Fact>
              <Fact name="Signer">
                <Hash value={of.signer} whole />
              </Fact>
              <Fact name="Placed">
                sequence <Count of={of.sequence} />, <Time at={of.timestamp} />
              </Fact>
              <Fact name="Batch">
                <a href={`#/batches/${of.batch_id}`}>number {of.batch_number}</a>, leaf {of.leaf_index}
              </Fact>
              <Fact name="Content">
                <Hash value={of.content} whole />
              </Fact>
              <Fact name="Leaf">
                <Hash value={of.leaf} whole />
              </Fact>
              <Fact name="Head after it">
                <Hash value={of.head} whole />
              </Fact>
            </Facts>
            <Part title="Its proof">
              <p>The receipt shows that the log holds the action. A proof file also holds its words, and the way to the chain.</p>
              <div class="row">
                <button type="button" class="main" disabled={doing.isBusy} onClick={() => void doing.run('check')}>
                  Check it here
                </button>
                <button type="button" disabled={doing.isBusy} onClick={() => void doing.run('receipt')}>
                  Save the receipt
                </button>
                <button type="button" disabled={doing.isBusy} onClick={() => void doing.run('inclusion')}>
                  Save a proof file
                </button>
                <button type="button" disabled={doing.isBusy} onClick={() => void doing.run('authorship')}>
                  Save one with the signature
                </button>
              </div>
              <Outcome of={doing as never} />
            </Part>
            <Part title="Payload, as signed">
              <Json value={of.payload} label="Payload" />
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
