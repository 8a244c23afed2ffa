/** Request signatures: the five headers, and the content hashes of the actions. */

import { type Hex, randomBytes, toHex } from '../protocol/bytes.js';
import { actionId, authorityOf, contentOf } from '../protocol/chain.js';
import { type Domain, type RequestHead, actionHash, consentDigest, requestDigest, saltOf, typedConsent, typedRequest } from '../protocol/domain.js';
import type { Signer } from './signers.js';

/** An action to sign, without its salt. */
export interface UnsaltedAction {
  readonly kind: string;
  readonly target: string;
  /** Exact text of the payload. */
  readonly payload: string;
}

/** A signed request, which may be sent again while its outcome is unknown. */
export interface SignedRequest {
  readonly head: RequestHead;
  readonly signature: Hex;
  /** The five headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Content hashes of the actions; receipts and ids follow from them. */
  readonly contents: readonly Hex[];
  /** Ids of the actions in the log, once they are done. */
  readonly actionIds: readonly string[];
}

/** Signing parameters of a request. */
export interface SigningTerms {
  readonly nonce: bigint;
  /** Deadline, Unix seconds, at most 24 hours ahead. */
  readonly deadline: bigint;
  readonly atomic: boolean;
  /** 32 random bytes, new for each request; drawn if absent. */
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

/** The body of `addWalletKey`: a key, with its consent to join the wallet. */
export interface KeyAddition {
  readonly address: Hex;
  readonly possession: Hex;
}

/**
 * A key's consent to join the wallet with this id: the body of `addWalletKey`, whose request the wallet's key signs.
 */
export async function signConsent(signer: Signer, domain: Domain, wallet: string): Promise<KeyAddition> {
  const { address } = signer;
  const digest = consentDigest(domain, wallet, address);
  return { address, possession: await signer.signRequest({ digest, typed: () => typedConsent(domain, wallet, address) }) };
}
