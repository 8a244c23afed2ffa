/** Choice of a signer: a new key, an existing key, or a browser wallet. */

import { useEffect, useState } from 'preact/hooks';
import { type BrowserWallet, browserWallets, signingWith } from '../browser-wallet';
import { type Signing, pageKey } from '../session';
import { neededOf } from '../fields';
import { Field, Tick } from './forms';
import { Copy } from './text';

/** Choice of a signer; `wallet:` and the wallet's id for a browser wallet. */
export type SignerChoice = 'new' | 'key' | 'none' | `wallet:${string}`;

let found: readonly BrowserWallet[] = [];

/** Form fields for choosing a signer. */
export function Signer({
  choice,
  onChoice,
  mayBeNew = false,
  mayBeNone = false,
  legend = 'What signs your changes',
}: {
  choice: SignerChoice;
  onChoice: (choice: SignerChoice) => void;
  mayBeNew?: boolean;
  mayBeNone?: boolean;
  legend?: string;
}) {
  const [wallets, setWallets] = useState<readonly BrowserWallet[]>(found);
  useEffect(
    () =>
      browserWallets((all) => {
        found = all;
        setWallets(all);
      }),
    [],
  );
  const option = (value: SignerChoice, label: string) => (
    <label key={value} class="option">
      <input type="radio" name="signer" value={value} checked={choice === value} onChange={() => onChoice(value)} /> <bdi>{label}</bdi>
    </label>
  );
  return (
    <fieldset>
      <legend>{legend}</legend>
      {mayBeNone ? option('none', 'Nothing: I only want to read') : null}
      {mayBeNew ? option('new', 'A new key, made in this page') : null}
      {option('key', 'A key that I have')}
      {wallets.map(({ id, name }) => option(`wallet:${id}`, `Browser wallet: ${name}`))}
      {wallets.length === 0 ? <p class="hint">No browser wallet (EIP-1193) was found in this browser.</p> : null}
      {choice === 'key' ? (
        <Field label="Private key" name="key" type="password" required hint="64 hexadecimal digits. It stays in this page and is not sent." />
      ) : null}
    </fieldset>
  );
}

/** A new key, for the user to save. */
export function NewKey({ value, onAnother }: { value: string; onAnother: () => void }) {
  const [isShown, setShown] = useState(false);
  return (
    <div class="secret">
      <p>
        <strong>Save this key now,</strong> for example in a password manager. Whoever has it can sign as you, and nobody can restore it.
      </p>
      <output class="mono whole" aria-label="Your new key">
        {isShown ? value : '•'.repeat(24)}
      </output>
      <p class="row">
        <button type="button" class="small" onClick={() => setShown(!isShown)} aria-pressed={isShown}>
          Show
        </button>
        <Copy text={value} what="the key" />
        <button type="button" class="small" onClick={onAnother}>
          Make another
        </button>
      </p>
      <Tick label="I have saved the key" name="saved" required />
    </div>
  );
}

/** The signer chosen in the form. */
export async function signingOf(choice: SignerChoice, form: FormData, made: `0x${string}` | null): Promise<Signing | null> {
  if (choice === 'none') return null;
  if (choice === 'new' && made !== null) return pageKey(made);
  if (choice.startsWith('wallet:')) {
    const wallet = found.find(({ id }) => `wallet:${id}` === choice);
    if (wallet === undefined) throw new Error('The browser wallet is gone: choose again.');
    return signingWith(wallet);
  }
  return pageKey(neededOf(form, 'key', 'Private key'));
}
