/** “Check it yourself”: verification of a receipt, proof file, state proof, claim or export in the browser. */

import { type StateFacts, type Trust, actionId, domainOf, writeJson } from '@kedge/sdk';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../check/asking';
import { takeHanded } from '../check/handed';
import { BYTES_MAX, type Kind } from '../check/kinds';
import { ABSENT, NAMES, STEPS, type ShownStep, type Standing, TITLES } from '../check/steps';
import type { Report, Shown } from '../check/work';
import { useDoing, useLoading } from '../loading';
import { neededOf, textOf } from '../fields';
import { Area, Field, Form, Outcome } from '../pieces/forms';
import { Fault, Notice } from '../pieces/notices';
import { Page, Part } from '../pieces/page';
import { Count, Fact, Facts, Hash, Json, Stored, Time } from '../pieces/text';
import { login, reader, trustNow } from '../session';

/** Test chains, on which the development key of claims is accepted. */
const TEST_CHAINS = [1337n, 31337n];
const RPC_OF_TEST_CHAINS = 'http://127.0.0.1:8545';

/** Characters of a text that are shown. */
const LENGTH_SHOWN = 20_000;

/** Names of an entry's texts. */
const TEXTS: Record<string, string> = { name: 'Name', properties: 'Properties, as text', schema: 'Schema, as text', rules: 'Schemas of rules' };

const MARKS: Record<Standing, readonly [mark: string, word: string]> = {
  waiting: ['·', 'waiting'],
  running: ['…', 'running'],
  good: ['✓', 'holds'],
  bad: ['✗', 'does not hold'],
  open: ['?', 'not checked'],
  absent: ['–', 'not in this file'],
};

interface Inputs {
  readonly contents: readonly `0x${string}`[];
  readonly key: string | null;
}

interface File {
  readonly name: string;
  readonly text: string;
  readonly inputs: Inputs;
}

interface State {
  readonly kind: Kind | null;
  readonly begun: readonly ShownStep[];
  readonly shown: Shown | null;
  readonly refused: string | null;
}

const FRESH: State = { kind: null, begun: [], shown: null, refused: null };

function standingOf(step: ShownStep, { kind, begun, shown, refused }: State, file: File): Standing {
  const place = begun.indexOf(step);
  const isLast = place === begun.length - 1;
  if (step === 'words' && kind === 'receipt' && file.inputs.contents.length === 0 && place >= 0 && !(isLast && refused)) return 'open';
  if (place >= 0) return !isLast || shown ? 'good' : refused ? 'bad' : 'running';
  if (step === 'contract') return shown?.onChain ? 'open' : shown ? 'absent' : 'waiting';
  return shown ? 'absent' : 'waiting';
}

function StepLine({ step, standing, note }: { step: ShownStep; standing: Standing; note?: string | null }) {
  const [title, what] = TITLES[step];
  const [mark, word] = MARKS[standing];
  return (
    <li class={`step ${standing}`} data-step={step} data-standing={standing}>
      <span class="mark" aria-hidden="true">
        {mark}
      </span>
      <div>
        <p>
          <strong>{title}</strong> <span class="word">{word}</span>
        </p>
        <p class="faint">{what}</p>
        {note ? (
          <p class="note">
            <Stored text={note} />
          </p>
        ) : null}
      </div>
    </li>
  );
}

function Contract({ shown, trust, onStanding }: { shown: Shown; trust: Trust; onStanding: (standing: Standing, note: string | null) => void }) {
  const isTest = TEST_CHAINS.includes(trust.domain.chainId);
  const doing = useDoing(async (form: FormData) => {
    if (shown.onChain === null) return;
    onStanding('running', null);
    try {
      const { askContract } = await import('../check/contract');
      onStanding('good', await askContract(neededOf(form, 'rpc', 'RPC'), shown.onChain, trust));
    } catch (error) {
      onStanding('bad', error instanceof Error ? ((error as { shortMessage?: string }).shortMessage ?? error.message) : String(error));
    }
  });
  return (
    <Form label="Ask the contract" submit="Ask the contract" doing={doing}>
      <Field
        label="RPC of an Ethereum node that you trust"
        name="rpc"
        type="url"
        required
        defaultValue={isTest ? RPC_OF_TEST_CHAINS : ''}
        placeholder="https://…"
        hint={`Any node of chain ${trust.domain.chainId} that answers browsers. It learns which contract you ask about.`}
      />
    </Form>
  );
}

/** What a state proof shows. */
function StateFacted({ state: { key, entry, texts, checkpoint, anchored } }: { state: StateFacts }) {
  const { type: _, ...members } = entry ?? { type: null };
  return (
    <>
      <Fact name="Id">
        <Hash value={key} whole />
      </Fact>
      <Fact name="Checkpoint">
        over <Count of={checkpoint.batches} /> batches, {anchored ? 'with an anchor' : 'without an anchor'}
      </Fact>
      <Fact name="Entry">{entry === null ? 'none: nothing was made under this id' : <Json value={members} label="Entry" />}</Fact>
      {Object.entries(texts).map(([name, text]) => (
        <Fact key={name} name={TEXTS[name] ?? name}>
          {typeof text === 'string' ? (
            <pre class="json" tabIndex={0} role="region" aria-label={TEXTS[name] ?? name}>
              {text.length > LENGTH_SHOWN ? `${text.slice(0, LENGTH_SHOWN)}…` : text}
            </pre>
          ) : (
            <Json value={text} label={TEXTS[name] ?? name} />
          )}
        </Fact>
      ))}
    </>
  );
}

function Facted({ shown }: { shown: Shown }) {
  const { words, disclosed, state } = shown;
  return (
    <Facts>
      {shown.sequence === null ? null : (
        <Fact name="Sequence">
          <Count of={shown.sequence} />
        </Fact>
      )}
      {shown.timestampMs === null ? null : (
        <Fact name="Time">
          <Time at={Number(shown.timestampMs)} />
        </Fact>
      )}
      {shown.batch === null ? null : (
        <Fact name="Batch">
          <a href={`#/batches/${shown.batch}`}>number {String(shown.batch)}</a>
        </Fact>
      )}
      {shown.content === null ? null : (
        <Fact name="Content">
          <Hash value={shown.content} whole />
        </Fact>
      )}
      {words === null ? null : (
        <>
          <Fact name="Kind">
            <Stored text={words.kind} />
          </Fact>
          <Fact name="Target">
            <Stored text={words.target} />
          </Fact>
          <Fact name="Signer">
            <Hash value={words.signer} whole />
          </Fact>
          <Fact name="Payload">
            <pre class="json" tabIndex={0} role="region" aria-label="Payload">
              {words.payload.length > LENGTH_SHOWN ? `${words.payload.slice(0, LENGTH_SHOWN)}…` : words.payload}
            </pre>
          </Fact>
        </>
      )}
      {state === null ? null : <StateFacted state={state} />}
      {Object.entries(disclosed ?? {}).map(([name, text]) => (
        <Fact key={name} name={`Disclosed ${name}`}>
          <Stored text={text} />
        </Fact>
      ))}
    </Facts>
  );
}

/** Verdict, steps and facts of a file. */
function Result({ file, trust, onProof }: { file: File; trust: Trust; onProof: (content: `0x${string}`) => Promise<void> }) {
  const [state, setState] = useState<State>(FRESH);
  const [contract, setContract] = useState<{ standing: Standing; note: string | null } | null>(null);
  const loading = useDoing(onProof);
  useEffect(() => {
    setState(FRESH);
    setContract(null);
    let end = (): void => {};
    let isCurrent = true;
    const report = (news: Report): void => {
      if (!isCurrent) return;
      if ('step' in news) setState((old) => ({ ...old, begun: [...old.begun, news.step] }));
      else setState((old) => ({ ...old, ...news }));
    };
    const begin = async (): Promise<void> => {
      const given = file.inputs.key === null ? null : JSON.parse(file.inputs.key);
      const isTest = TEST_CHAINS.includes(trust.domain.chainId);
      const key = given ?? (isTest ? (await import('../../../../crates/prover/keys/dev-insecure.json')).default : null);
      if (isCurrent) end = ask({ text: file.text, trust, contents: file.inputs.contents, key }, report);
    };
    begin().catch((error: unknown) => report({ refused: error instanceof Error ? error.message : String(error) }));
    return () => {
      isCurrent = false;
      end();
    };
  }, [file, trust]);
  const { kind, shown, refused } = state;
  const isOpen = kind === 'receipt' && file.inputs.contents.length === 0;
  return (
    <section aria-label="Result" aria-live="polite" aria-busy={shown === null && refused === null}>
      <h2>
        <Stored text={file.name} />
        {kind === null ? null : `, ${NAMES[kind]}`}
      </h2>
      {refused === null ? null : (
        <Notice kind="bad">
          <strong>It does not hold.</strong> <Stored text={refused} />
        </Notice>
      )}
      {shown === null ? null : (
        <Notice kind="good">
          <strong>It holds.</strong> <Stored text={shown.summary} />
        </Notice>
      )}
      {kind === 'claim' && file.inputs.key === null && shown !== null ? (
        <Notice kind="plain">Checked with the development key, with which anybody can forge claims: it counts on test chains alone.</Notice>
      ) : null}
      <ol class="steps" aria-label="Steps">
        {(kind === null ? [] : STEPS[kind]).map((step) => {
          const own = step === 'contract' ? contract : null;
          const standing = own?.standing ?? standingOf(step, state, file);
          const isMissing = standing === 'absent' || (step === 'words' && standing === 'open');
          const note = own?.note ?? (standing === 'bad' ? refused : isMissing ? (ABSENT[step] ?? null) : null);
          return <StepLine key={step} step={step} standing={standing} note={note} />;
        })}
      </ol>
      {shown?.onChain ? <Contract shown={shown} trust={trust} onStanding={(standing, note) => setContract({ standing, note })} /> : null}
      {shown === null ? null : <Facted shown={shown} />}
      {isOpen && shown?.content && login.value !== null ? (
        <p class="row">
          <button type="button" disabled={loading.isBusy} onClick={() => void loading.run(shown.content as `0x${string}`)}>
            Load its proof file, and check that
          </button>
        </p>
      ) : null}
      <Outcome of={loading as never} />
    </section>
  );
}

function TrustForm({ stated, onTrust }: { stated: Trust; onTrust: (trust: Trust | null) => void }) {
  const doing = useDoing(async (form: FormData) => {
    const [chain, contract, key] = [neededOf(form, 'chain', 'Chain'), neededOf(form, 'contract', 'Contract'), neededOf(form, 'key', 'Sequencer')];
    if (!/^[0-9]+$/.test(chain)) throw new Error('A chain’s id is a whole number.');
    for (const address of [contract, key]) if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new Error(`${address} is no address.`);
    onTrust({ domain: domainOf(BigInt(chain), contract), sequencer: key });
    return 'Files are now checked against this.';
  });
  const { domain, sequencer } = stated;
  return (
    <details>
      <summary>What the check trusts</summary>
      <p>
        Never the file. Until you change it: the log that this server states. For a check that does not rely on this server, take chain and contract
        from a source of your own, and have the contract confirm the sequencer in the last step.
      </p>
      <Form label="What the check trusts" submit="Trust this" doing={doing}>
        <Field label="Chain id" name="chain" required inputMode="numeric" defaultValue={String(domain.chainId)} />
        <Field label="First contract of the log" name="contract" required defaultValue={domain.verifyingContract} />
        <Field
          label="Sequencer"
          name="key"
          required
          defaultValue={typeof sequencer === 'string' ? sequencer : (sequencer[0]?.key ?? '')}
          hint="The key that signs all batches. The server’s list of keys is used until you change it."
        />
        <div class="row">
          <button type="button" onClick={() => onTrust(null)}>
            Back to what the server states
          </button>
        </div>
      </Form>
    </details>
  );
}

/** The page. */
export function Check() {
  const stated = useLoading(trustNow, []);
  const [own, setOwn] = useState<Trust | null>(null);
  const [file, setFile] = useState<File | null>(null);
  const [isOver, setOver] = useState(false);
  const inputs = useRef<HTMLFormElement>(null);
  const trust = own ?? stated.value;
  const opening = useDoing(async (name: string, read: () => Promise<string>) => {
    setFile(null);
    const form = new FormData(inputs.current ?? undefined);
    const contents = (textOf(form, 'contents') ?? '').split(/[\s,]+/).filter((text) => text !== '');
    for (const text of contents) if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new Error(`${text} is no content: 0x and 64 hexadecimal digits.`);
    const given = form.get('key') as globalThis.File | null;
    const key = given !== null && given.size > 0 ? await given.slice(0, 1_000_000).text() : null;
    setFile({ name, text: await read(), inputs: { contents: contents.map((text) => text.toLowerCase() as `0x${string}`), key } });
  });
  const openFile = (dropped: globalThis.File | undefined | null): void => {
    if (dropped == null) return;
    void opening.run(dropped.name, async () => {
      if (dropped.size > BYTES_MAX) throw new Error('The file is too large for the page: check it with kedge verify.');
      return dropped.text();
    });
  };
  const loadProof = async (content: `0x${string}`): Promise<void> => {
    const id = actionId(content);
    const proof = await reader().getActionProof(id, { form: 'authorship' });
    await opening.run(`the proof of ${id}`, async () => writeJson(proof));
  };
  useEffect(() => {
    const handed = takeHanded();
    if (handed !== null) void opening.run(handed.name, async () => handed.text);
  }, []);
  return (
    <Page title="Check it yourself" lead="Verify a receipt, a proof file, a state proof, a claim or an export. The check runs in this page; nothing is sent.">
      <Fault error={stated.error} />
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
          openFile(event.dataTransfer?.files[0]);
        }}
      >
        <label class="button main">
          Choose a file
          <input type="file" class="hidden-input" name="file" accept=".json,.ndjson,application/json" onChange={(event) => openFile(event.currentTarget.files?.[0])} />
        </label>
        <p>or drop it here</p>
      </div>
      <details>
        <summary>Paste its text instead</summary>
        <Form label="Paste" submit="Check the text" doing={opening2(opening)}>
          <Area label="Text of the file" name="text" rows={8} required />
        </Form>
      </details>
      <details>
        <summary>What only you know</summary>
        <form ref={inputs} aria-label="What only you know" onSubmit={(event) => event.preventDefault()}>
          <Area label="Contents of your actions (for receipts)" name="contents" rows={3} hint="As your client computed them from what it signed, in the order of the request. Only with them does a receipt show that it is for your action." />
          <Field label="Verification key (for claims)" name="key" type="file" accept=".json" hint="verification_key.json of the circuit’s ceremony. Test chains use the development key." />
        </form>
      </details>
      {stated.value === null ? null : <TrustForm stated={stated.value} onTrust={setOwn} />}
      <Fault error={opening.error} />
      {file !== null && trust !== null ? (
        <Result file={file} trust={trust} onProof={loadProof} />
      ) : (
        <Part title="What is checked">
          <ol class="steps">
            {STEPS.proof.map((step) => (
              <StepLine key={step} step={step} standing="waiting" />
            ))}
          </ol>
        </Part>
      )}
    </Page>
  );
}

/** Opens pasted text like a dropped file. */
function opening2(opening: { run: (name: string, read: () => Promise<string>) => Promise<boolean>; isBusy: boolean; clear: () => void }) {
  return {
    run: (form: FormData) => opening.run('pasted text', async () => neededOf(form, 'text', 'Text of the file')),
    isBusy: opening.isBusy,
    error: null,
    done: null,
    clear: opening.clear,
  };
}
