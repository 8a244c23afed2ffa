/** Disputes: faults and claims with their verdicts, and submission. */

import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { JsonText } from '@kedge/sdk';
import { handOver } from '../check/handed';
import { type Kind, recognise } from '../check/kinds';
import { useDoing, useLoading, usePaging } from '../loading';
import { neededOf } from '../fields';
import { Area, Form } from '../pieces/forms';
import { List } from '../pieces/lists';
import { Fault, Loaded, Notice } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Ago } from '../pieces/ago';
import { Count, Fact, Facts, Hash, Json, Ref, State, Stored, Time } from '../pieces/text';
import { reader } from '../session';

/** Limit on the size of evidence and claims, in bytes. */
const BYTES_MAX = 4 * 1024 * 1024;

const CHECKED: Record<Exclude<Kind, 'claim'>, string> = {
  receipt: 'a receipt',
  receipts: 'a receipt of several actions',
  proof: 'a proof file',
  state: 'a state proof',
  answer: 'an answer with a state proof',
  export: 'an export',
};

/** What a text is: something to bring, something that only the check takes, or neither. */
type Brought = { readonly is: 'dispute' } | { readonly is: 'checked'; readonly what: string } | { readonly is: 'unknown'; readonly why: string };

function broughtOf(text: string): Brought {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && (value as { format?: unknown }).format === 'kedge.evidence') return { is: 'dispute' };
  } catch {
    // An export is several lines of JSON.
  }
  try {
    const { kind } = recognise(text);
    return kind === 'claim' ? { is: 'dispute' } : { is: 'checked', what: CHECKED[kind] };
  } catch (error) {
    return { is: 'unknown', why: error instanceof SyntaxError || /no JSON|too large/.test((error as Error).message) ? (error as Error).message : 'This is neither evidence (format kedge.evidence) nor a claim (format kedge.claim).' };
  }
}

function Bring({ onDone }: { onDone: () => void }) {
  const [, go] = useLocation();
  const [text, setText] = useState('');
  const [name, setName] = useState('pasted text');
  const [isOver, setOver] = useState(false);
  const brought = text.trim() === '' ? null : broughtOf(text);
  const doing = useDoing(async (form: FormData) => {
    const file = neededOf(form, 'text', 'Evidence or claim');
    const what = broughtOf(file);
    if (what.is === 'checked') throw new Error(`This is ${what.what}, which shows no fault by itself: check it.`);
    if (what.is === 'unknown') throw new Error(what.why);
    // The original spelling, so that no number is rounded.
    const { id } = await reader().bringDispute(new JsonText(file) as never);
    onDone();
    go(`/disputes/${id}`);
  });
  const opening = useDoing(async (file: File) => {
    doing.clear();
    if (file.size > BYTES_MAX) throw new Error(`${file.name} has more than 4 MiB: no evidence or claim is that large. Check an export under “Check it yourself”.`);
    setName(file.name);
    setText(await file.text());
  });
  const open = (file: File | undefined | null): void => {
    if (file != null) void opening.run(file);
  };
  const check = (): void => {
    handOver(name, text);
    go('/check');
  };
  return (
    <Form label="Bring a dispute" submit="Bring it" doing={doing}>
      <p>Evidence of a fault, or a claim, as a file. The server checks it, and records its verdict in the log.</p>
      <div
        class={isOver ? 'drop over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          open(event.dataTransfer?.files[0]);
        }}
      >
        <label class="button">
          Choose a file
          <input type="file" class="hidden-input" name="file" accept=".json,.ndjson,application/json" onChange={(event) => open(event.currentTarget.files?.[0])} />
        </label>
        <p>or drop it here</p>
      </div>
      <Fault error={opening.error} />
      <Area
        label="Evidence or claim"
        name="text"
        rows={8}
        required
        value={text}
        onInput={(event) => {
          setName('pasted text');
          setText(event.currentTarget.value);
        }}
      />
      {brought === null || brought.is === 'dispute' ? null : (
        <Notice kind="plain">
          {brought.is === 'checked' ? (
            <>
              This is {brought.what}, which shows no fault by itself.{' '}
              <button type="button" class="link" onClick={check}>
                Check it
              </button>{' '}
              to see whether it holds.
            </>
          ) : (
            <Stored text={brought.why} />
          )}
        </Notice>
      )}
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
          { name: 'Verdict', show: ({ created_at: at }) => <Ago at={at} /> },
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
