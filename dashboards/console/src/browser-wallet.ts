/**
 * Browser wallets: providers after EIP-1193, found by EIP-6963 or as `window.ethereum`. A wallet shows the typed data of
 * each request to its owner, who signs it there.
 */

import { signerOf } from '@kedge/sdk';
import type { EIP1193Provider } from 'viem';
import type { Signing } from './session';

/** A wallet that announced itself. */
export interface BrowserWallet {
  readonly id: string;
  /** The name that the wallet gives itself. */
  readonly name: string;
  readonly provider: EIP1193Provider;
}

interface Announced extends Event {
  readonly detail?: { readonly info?: { readonly uuid?: unknown; readonly name?: unknown }; readonly provider?: EIP1193Provider };
}

/** Reports the wallets of this browser, again whenever one more announces itself. Returns what ends that. */
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

/** Connects to a wallet: its owner chooses the account. */
export async function signingWith({ name, provider }: BrowserWallet): Promise<Signing> {
  const [{ createWalletClient, custom }] = await Promise.all([import('viem')]);
  const transport = custom(provider);
  const [account] = await createWalletClient({ transport }).requestAddresses();
  if (account === undefined) throw new Error('The wallet gave no account.');
  return { kind: 'wallet', name, signer: signerOf(createWalletClient({ account, transport })) };
}
