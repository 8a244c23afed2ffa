/** Disputes: faults and claims with their verdicts, and submission. */

import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { JsonText } from '@kedge/sdk';
import { useDoing, useLoading, usePaging } from '../loading';
import { neededOf } from '../fields';
import { Area, Form } from '../pieces/forms';
import { List } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Count, Fact, Facts, Hash, Json, Ref, State, Time } from '../pieces/text';
import { reader } from '../session';

/** Limit on the size of evidence and claims, in bytes. */
const BYTES_MAX = 4 * 1024 * 1024;

function Bring({ onDone }: { onDone: () => void }) {
  const [, go] = useLocation();
  const [text, setText] = useState('');
  const doing = useDoing(async (form: FormData) => {
    const file = neededOf(form, 'text', 'Evidence or claim');
    // The original spelling, so that no number is rounded.
    const { id } = await reader().bringDispute(new JsonText(file) as never);
    onDone();
    go(`/disputes/${id}`);
  });
  const open = async (file: File | undefined): Promise<void> => {
    if (file !== undefined && file.size <= BYTES_MAX) setText(await file.text());
  };
  return (
    <Form label="Bring a dispute" submit="Bring it" doing={doing}>
      <p>Evidence of a fault, or a claim, as a file. The server checks it, and records its verdict in the log.</p>
      <label class="button">
        Choose a file
        <input type="file" class="hidden-input" name="file" accept=".json,application/json" onChange={(event) => void open(event.currentTarget.files?.[0])} />
      </label>
      <Area label="Evidence or claim" name="text" rows={8} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
    </Form>
  );
}

/** The disputes. */
export function Disputes() {
  const [turn, setTurn] = useState(0);
  const disputes = usePaging(() => reader().listDisputes({ limit: 50, order: 'desc' }), [turn]);
  return (
    <Page title="Disputes" lead="Faults of the sequencer that evidence shows, and claims that hold, with their verdicts in the log.">
      <List
        label="Disputes"
        of={disputes}
        keyOf={({ id }) => id}
        none="There are no disputes."
        columns={[
          { name: 'Dispute', show: ({ id }) => <Ref id={id} /> },
          { name: 'Kind', show: ({ kind }) => kind },
          { name: 'Fault', show: ({ fault }) => (fault ? <State of={fault} /> : <span class="faint">none</span>) },
          { name: 'About', show: ({ subject_id: id }) => <Ref id={id} /> },
          { name: 'Verdict', show: ({ created_at: at }) => <Time at={at} /> },
        ]}
      />
      <Part title="Bring a dispute">
        <Bring onDone={() => setTurn(turn + 1)} />
      </Part>
    </Page>
  );
}

/** One dispute. */
export function OneDispute({ id }: { id: string }) {
  const dispute = useLoading(() => reader().getDispute(id), [id]);
  return (
    <Page title="Dispute">
      <Loaded of={dispute}>
        {(of) => (
          <>
            <Facts>
              <Fact name="Kind">{of.kind}</Fact>
              {of.fault ? (
                <Fact name="Fault">
                  <State of={of.fault} />
                </Fact>
              ) : null}
              <Fact name="About">
                <Ref id={of.subject_id} />
              </Fact>
              <Fact name="Batch">
                <a href={`#/batches/${of.batch}`}>number {of.batch}</a>
              </Fact>
              <Fact name="Verdict">
                sequence <Count of={of.sequence} />, <Time at={of.created_at} />
              </Fact>
              <Fact name="Digest">
                <Hash value={of.evidence_digest ?? of.claim_digest ?? ''} whole />
              </Fact>
              <Fact name="Id">
                <Hash value={of.id} whole />
              </Fact>
            </Facts>
            {of.action ? (
              <Part title="What the claim shows">
                <Json value={of.action} label="What the claim shows" />
              </Part>
            ) : null}
            <Part title={of.kind === 'claim' ? 'The claim' : 'The evidence'}>
              <Json value={of.evidence ?? of.claim ?? null} label="The file" />
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
