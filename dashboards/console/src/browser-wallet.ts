/**
 * Browser wallets: EIP-1193 providers, found by EIP-6963 or as `window.ethereum`. A wallet shows its owner the typed
 * data of each request to sign.
 */

import { signerOf } from '@kedge/sdk';
import type { EIP1193Provider } from 'viem';
import type { Signing } from './session';

/** A wallet found in the browser. */
export interface BrowserWallet {
  readonly id: string;
  /** The wallet's name for itself. */
  readonly name: string;
  readonly provider: EIP1193Provider;
}

interface Announced extends Event {
  readonly detail?: { readonly info?: { readonly uuid?: unknown; readonly name?: unknown }; readonly provider?: EIP1193Provider };
}

/** Reports the browser's wallets, again for each new one. Returns a function that stops the reports. */
export function browserWallets(onChange: (wallets: readonly BrowserWallet[]) => void): () => void {
  const wallets = new Map<string, BrowserWallet>();
  const report = (): void => onChange([...wallets.values()]);
  const announced = ({ detail }: Announced): void => {
    const { info, provider } = detail ?? {};
    if (typeof info?.uuid !== 'string' || typeof info.name !== 'string' || typeof provider?.request !== 'function') return;
    wallets.set(info.uuid, { id: info.uuid, name: info.name.slice(0, 60), provider });
    report();
  };
  addEventListener('eip6963:announceProvider', announced as EventListener);
  dispatchEvent(new Event('eip6963:requestProvider'));
  const { ethereum } = window as { ethereum?: EIP1193Provider };
  if (wallets.size === 0 && typeof ethereum?.request === 'function') wallets.set('injected', { id: 'injected', name: 'injected', provider: ethereum });
  report();
  return () => removeEventListener('eip6963:announceProvider', announced as EventListener);
}

/** Connects to a wallet, whose owner chooses the account. */
export async function signingWith({ name, provider }: BrowserWallet): Promise<Signing> {
  const [{ createWalletClient, custom }] = await Promise.all([import('viem')]);
  const transport = custom(provider);
  const [account] = await createWalletClient({ transport }).requestAddresses();
  if (account === undefined) throw new Error('The wallet gave no account.');
  return { kind: 'wallet', name, signer: signerOf(createWalletClient({ account, transport })) };
}
