/** The mark of a shown object or template: as of which checkpoint it is proven. */

import { type StateProof, Contradiction, writeJson } from '@kedge/sdk';
import type { ComponentChildren } from 'preact';
import { useLocation } from 'wouter-preact';
import { handOver } from '../check/handed';
import type { ExactAnswer } from '../exact-answers';
import { useLoading } from '../loading';
import { type Proving, type ShownItem, type Standing, useProving } from '../proving';
import { saveAs } from '../saving';
import { trustNow } from '../session';
import { Notice } from './notices';
import { Part } from './page';
import { Copy, Count, Stored, Time } from './text';

/** The checkpoint of a proof, as the end of a sentence. */
function AsOf({ proof: { checkpoint, anchored } }: { proof: StateProof }) {
  return (
    <>
      as of the checkpoint over <Count of={checkpoint.batches} /> batches: sequence <Count of={checkpoint.sequence} />,{' '}
      <Time at={Number(checkpoint.issued_at_ms)} />, {anchored ? 'anchored, the server says' : 'not anchored yet'}
    </>
  );
}

function Mark({ kind, mark, children }: { kind: 'good' | 'open'; mark: string; children: ComponentChildren }) {
  return (
    <strong class={`verdict ${kind}`}>
      <span aria-hidden="true">{mark}</span> {children}
    </strong>
  );
}

/** What came after the proof. */
function Later({ changes, link }: { changes: bigint; link: ComponentChildren }) {
  if (changes === 0n) return <>What was minted, burned or added after it is not proven yet</>;
  return (
    <>
      {changes === 1n ? '1 change' : `${changes} changes`} after it {changes === 1n ? 'is' : 'are'} not proven yet ({link})
    </>
  );
}

function Bad({ id, error, evidence }: Extract<Standing, { kind: 'bad' }> & { id: string }) {
  const reason = error instanceof Error ? error.message : String(error);
  return (
    <Notice kind="bad">
      <p>
        <strong>The server’s proof of this does not hold:</strong> <Stored text={reason} />
      </p>
      <p>
        {error instanceof Contradiction ? 'The sequencer signed two checkpoints that contradict each other.' : 'Do not rely on what the page shows.'} Keep
        the answer: it is evidence.
      </p>
      <button type="button" onClick={() => saveAs(`refused-${id}.json`, writeJson(evidence))}>
        Save the answer
      </button>
    </Notice>
  );
}

function Stand({ id, proving, link, onStale }: { id: string; proving: Proving; link: ComponentChildren; onStale: () => void }) {
  const { standing, isWaiting, again } = proving;
  if (standing === null) return <p class="faint">Reading the proof…</p>;
  const more = isWaiting ? (
    <p class="faint">The page waits for the next checkpoint.</p>
  ) : (
    <button type="button" class="small" onClick={again}>
      Look again
    </button>
  );
  switch (standing.kind) {
    case 'proven':
      return (
        <p>
          <Mark kind="good" mark="✓">
            Proven
          </Mark>{' '}
          <AsOf proof={standing.proof} />.
        </p>
      );
    case 'behind':
      return (
        <>
          <p>
            <Mark kind="open" mark="…">
              Version {String(standing.proof.entry?.version)} is proven
            </Mark>{' '}
            <AsOf proof={standing.proof} />. <Later changes={standing.changes} link={link} />.
          </p>
          {more}
        </>
      );
    case 'ahead':
      return (
        <>
          <p>
            <Mark kind="open" mark="…">
              It has changed
            </Mark>{' '}
            since the page read it. The change is proven <AsOf proof={standing.proof} />.
          </p>
          <button type="button" class="small" onClick={onStale}>
            Show it as it is now
          </button>
        </>
      );
    case 'open':
      return (
        <>
          <p class="faint">
            Not proven yet: <Stored text={standing.why} />.
          </p>
          {more}
        </>
      );
    case 'bad':
      return <Bad {...standing} id={id} />;
  }
}

/** The command that verifies a saved proof without this page. */
function Command({ file }: { file: string }) {
  const trust = useLoading(trustNow, []);
  if (trust.value === null) return null;
  const line = `kedge verify state ${file} --rpc RPC --contract ${trust.value.domain.verifyingContract}`;
  return (
    <details>
      <summary>Check it without this page</summary>
      <p class="faint">With the saved file, and an Ethereum node that you trust as RPC. Take the contract from a source of your own.</p>
      <pre class="json" tabIndex={0} role="region" aria-label="Command">
        {line}
      </pre>
      <Copy text={line} what="the command" />
    </details>
  );
}

/** The proof of a shown item: the mark, the file, and how to check it elsewhere. */
export function ItsProof({ of: shown, link, onStale }: { of: ExactAnswer<ShownItem>; link: ComponentChildren; onStale: () => void }) {
  const [, go] = useLocation();
  const { value: of, exact } = shown;
  const proving = useProving(of, exact);
  const { standing } = proving;
  const proof = standing !== null && 'proof' in standing ? standing.proof : null;
  const file = `state-${of.id}.json`;
  const check = (text: string): void => {
    handOver(file, text);
    go('/check');
  };
  return (
    <Part title="Its proof">
      <div aria-live="polite" data-standing={standing?.kind ?? 'reading'} class="proof">
        <Stand id={of.id} proving={proving} link={link} onStale={onStale} />
      </div>
      {proof === null ? null : (
        <>
          <p class="faint">
            The page has verified the way from the proven values to the root that the sequencer signed. Times{of.id.startsWith('tpl_') ? ', name and description' : ''}{' '}
            are not part of it.
          </p>
          <div class="row">
            <button type="button" onClick={() => check(writeJson(proof.answer))}>
              Check it step by step
            </button>
            <button type="button" onClick={() => saveAs(file, writeJson(proof.answer))}>
              Save the state proof
            </button>
          </div>
          <Command file={file} />
        </>
      )}
    </Part>
  );
}
