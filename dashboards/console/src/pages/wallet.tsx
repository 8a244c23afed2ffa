/** The caller's wallet: signer, keys, and storage of login and key. */

import { useState } from 'preact/hooks';
import { useDoing, useLoading } from '../loading';
import { neededOf, textOf } from '../fields';
import { Field, Form, Outcome, PASSWORD_LENGTH_MIN, PASSWORD_RULE, Sure, Tick } from '../pieces/forms';
import { Loaded, Notice } from '../pieces/notices';
import { Page, Part, Signed } from '../pieces/page';
import { Signer, type SignerChoice, signingOf } from '../pieces/signer';
import { Copy, Fact, Facts, Hash, Stored, Time } from '../pieces/text';
import { isKept, keep, login, reader, signWith } from '../session';

const sameAddress = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

function Signing({ keys }: { keys: readonly string[] }) {
  const [choice, setChoice] = useState<SignerChoice>('key');
  const signing = login.value?.signing ?? null;
  const doing = useDoing(async (form: FormData) => {
    const next = await signingOf(choice, form, null);
    if (next !== null && !keys.some((key) => sameAddress(key, next.signer.address))) {
      throw new Error(`${next.signer.address} is not a key of this wallet. Add it first, with a key that is.`);
    }
    signWith(next);
    return next === null ? 'Nothing signs now.' : 'It signs your changes from now on.';
  });
  return (
    <>
      {signing === null ? (
        <Notice kind="plain">Nothing signs: you can read only.</Notice>
      ) : (
        <p>
          {signing.kind === 'page' ? 'A key in this page’s memory signs: ' : <>The browser wallet <Stored text={signing.name} /> signs: </>}
          <Hash value={signing.signer.address} whole />
        </p>
      )}
      <Tick
        label="Keep login and key in this tab until it is closed"
        name="keep"
        hint="In the tab’s sessionStorage, where any script of this origin could read them. A reload of the page then forgets neither."
        checked={isKept.value}
        onChange={(event) => keep(event.currentTarget.checked)}
      />
      <details open={signing === null}>
        <summary>Sign with something else</summary>
        <Form label="What signs" submit="Use it" doing={doing}>
          <Signer choice={choice} onChoice={setChoice} mayBeNone />
        </Form>
      </details>
    </>
  );
}

function KeysOf({ wallet, keys, onDone }: { wallet: string; keys: readonly string[]; onDone: () => void }) {
  const signing = login.value?.signing ?? null;
  const removing = useDoing(async (address: string) => {
    await reader().removeWalletKey(address);
    onDone();
    return 'The key is removed: it signs nothing any more.';
  });
  const [choice, setChoice] = useState<SignerChoice>('key');
  const adding = useDoing(async (form: FormData) => {
    const next = await signingOf(choice, form, null);
    if (next === null) throw new Error('Choose the key that is to sign for this wallet.');
    await reader().addSigner(next.signer);
    onDone();
    return 'The key may sign for this wallet now.';
  });
  const addingSigned = useDoing(async (form: FormData) => {
    const possession = neededOf(form, 'possession', 'Consent') as `0x${string}`;
    await reader().addWalletKey({ address: neededOf(form, 'address', 'Address'), possession });
    onDone();
    return 'The key may sign for this wallet now.';
  });
  return (
    <>
      <ul class="plain">
        {keys.map((key) => (
          <li key={key} class="row">
            <Hash value={key} whole /> <Copy text={key} what="the address" />
            {signing !== null && !sameAddress(key, signing.signer.address) ? (
              <Sure label="Remove" question="Remove this key?" disabled={removing.isBusy} onSure={() => void removing.run(key)} />
            ) : null}
          </li>
        ))}
      </ul>
      <Outcome of={removing as never} />
      <Signed>
        <details>
          <summary>Add a key</summary>
          <Form label="Add a key" submit="Sign and add" doing={adding} onEmptied={() => {}}>
            <p class="hint">The new key signs that it joins this wallet. Its address then belongs to this wallet for ever.</p>
            <Signer choice={choice} onChoice={setChoice} legend="The key to add" />
          </Form>
        </details>
        <details>
          <summary>Add a key that is elsewhere</summary>
          <Form label="Add a key that is elsewhere" submit="Sign and add" doing={addingSigned} onEmptied={() => {}}>
            <p class="hint">
              Where the key is, <code>kedge keys consent --wallet {wallet}</code> prints both.
            </p>
            <Field label="Address" name="address" required pattern="0x[0-9a-fA-F]{40}" placeholder="0x…" />
            <Field label="Consent" name="possession" required pattern="0x[0-9a-fA-F]{130}" placeholder="0x…" />
          </Form>
        </details>
      </Signed>
    </>
  );
}

function Changing({ onDone }: { onDone: () => void }) {
  const doing = useDoing(async (form: FormData) => {
    const nickname = textOf(form, 'nickname');
    const [password, current] = [String(form.get('password')), String(form.get('current_password'))];
    const change = { ...(nickname === null ? {} : { nickname }), ...(password === '' ? {} : { password, current_password: current }) };
    if (Object.keys(change).length === 0) throw new Error('Fill in what is to change.');
    await reader().updateOwnWallet(change as never);
    onDone();
    return 'Changed.';
  });
  return (
    <Form label="Change" submit="Sign and change" doing={doing} onEmptied={() => {}}>
      <Field label="Name to show" name="nickname" />
      <Field label="New password" name="password" type="password" minLength={PASSWORD_LENGTH_MIN} autoComplete="new-password" hint={PASSWORD_RULE} />
      <Field label="Current password, for a new one" name="current_password" type="password" autoComplete="current-password" />
    </Form>
  );
}

/** The caller's wallet. */
export function OwnWallet() {
  const [turn, setTurn] = useState(0);
  const wallet = useLoading(() => reader().getOwnWallet(), [turn, login.value]);
  const again = (): void => setTurn((old) => old + 1);
  return (
    <Page title="Your wallet">
      <Loaded of={wallet}>
        {(of) => (
          <>
            <Facts>
              <Fact name="Name">{of.nickname === null ? <span class="faint">none</span> : <Stored text={of.nickname} />}</Fact>
              <Fact name="E-mail">
                <Stored text={of.email} />
              </Fact>
              <Fact name="Id">
                <Hash value={of.id} whole /> <Copy text={of.id} what="the id" />
              </Fact>
              <Fact name="Role">{of.role}</Fact>
              <Fact name="Organization">
                <Hash value={of.organization_id} whole />
              </Fact>
              <Fact name="Registered">
                <Time at={of.created_at} />
              </Fact>
            </Facts>
            <Part title="What signs">
              <Signing keys={of.keys} />
            </Part>
            <Part title="Keys of the wallet">
              <KeysOf wallet={of.id} keys={of.keys} onDone={again} />
            </Part>
            <Part title="Name and password">
              <Signed>
                <Changing onDone={again} />
              </Signed>
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
