/** Signing a request: the five headers, and what the log will hold of each action. */

import { type Hex, randomBytes, toHex } from '../protocol/bytes.js';
import { actionId, authorityOf, contentOf } from '../protocol/chain.js';
import { type Domain, type RequestHead, actionHash, consentDigest, requestDigest, saltOf, typedConsent, typedRequest } from '../protocol/domain.js';
import type { Signer } from './signers.js';

/** One thing to do, as it is signed. */
export interface UnsaltedAction {
  readonly kind: string;
  readonly target: string;
  /** The exact text that is sent. */
  readonly payload: string;
}

/** A request that is signed: it may be sent as often as its outcome is unknown. */
export interface SignedRequest {
  readonly head: RequestHead;
  readonly signature: Hex;
  /** The five headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content of each action: what a receipt must be for, and what ids follow from. */
  readonly contents: readonly Hex[];
  /** The id that each action has in the log once it is done. */
  readonly actionIds: readonly string[];
}

/** How a request is signed. */
export interface SigningTerms {
  readonly nonce: bigint;
  /** Unix time in seconds until which the request may be placed, at most 24 hours ahead. */
  readonly deadline: bigint;
  readonly atomic: boolean;
  /** 32 random bytes that no other request has; drawn if absent. */
  readonly seed?: Hex;
}

/** Signs actions as one request. */
export async function signRequest(signer: Signer, domain: Domain, actions: readonly UnsaltedAction[], terms: SigningTerms): Promise<SignedRequest> {
  const { nonce, deadline, atomic, seed = toHex(randomBytes(32)) } = terms;
  const head: RequestHead = { signer: signer.address, nonce, deadline, atomic };
  const salted = actions.map((action, i) => ({ ...action, salt: saltOf(seed, i) }));
  const digest = requestDigest(domain, head, salted.map(actionHash));
  const signature = await signer.signRequest({ digest, typed: () => typedRequest(domain, head, salted) });
  let contents: Hex[] | undefined;
  const contentsOnce = (): Hex[] =>
    (contents ??= salted.map(({ salt, ...action }) =>
      contentOf({ ...action, signer: signer.address, authority: authorityOf(signature, salt) }),
    ));
  return {
    head,
    signature,
    headers: {
      'x-signature': signature,
      'x-signature-address': signer.address,
      'x-signature-nonce': nonce.toString(),
      'x-signature-deadline': deadline.toString(),
      'x-signature-salt': seed,
    },
    get contents() {
      return contentsOnce();
    },
    get actionIds() {
      return contentsOnce().map(actionId);
    },
  };
}

/** The body of `addWalletKey`: a key, with its own consent to join the wallet. */
export interface KeyAddition {
  readonly address: Hex;
  readonly possession: Hex;
}

/** A key's consent to join the wallet with this id: the body of `addWalletKey`. The wallet's own key then signs the request. */
export async function signConsent(signer: Signer, domain: Domain, wallet: string): Promise<KeyAddition> {
  const { address } = signer;
  const digest = consentDigest(domain, wallet, address);
  return { address, possession: await signer.signRequest({ digest, typed: () => typedConsent(domain, wallet, address) }) };
}
