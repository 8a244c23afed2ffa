/** Signers: a raw key, an account or a wallet client of viem, or anything that signs EIP-712 typed data. */

import { type Hex, fromHex, randomBytes, toHex } from '../protocol/bytes.js';
import { addressOfKey, signDigest } from '../protocol/curve.js';
import type { TypedConsent, TypedRequest } from '../protocol/domain.js';

/** Content to sign, in two forms. */
export interface SigningInput {
  /** EIP-712 digest. */
  readonly digest: Hex;
  /** Typed data of the digest, for a wallet to show. */
  readonly typed: () => TypedRequest | TypedConsent;
}

/** Signs requests, and consents to join a wallet, with one key. */
export interface Signer {
  /** Address of the key. */
  readonly address: Hex;
  /** Signs a request: 65 bytes r ‖ s ‖ v. */
  signRequest(input: SigningInput): Hex | Promise<Hex>;
}

/** The used parts of viem's `Account`. */
export interface AccountLike {
  readonly address: Hex;
  sign?: ((parameters: { hash: Hex }) => Promise<Hex>) | undefined;
  // viem's own type is generic over the typed data.
  signTypedData?: ((typed: any) => Promise<Hex>) | undefined;
}

/** The used parts of viem's wallet client. */
export interface WalletClientLike {
  readonly account?: { readonly address: Hex } | undefined;
  // viem's own type is generic over the typed data.
  signTypedData(typed: any): Promise<Hex>;
}

/** Anything that can sign: a private key of 32 bytes, an account or wallet client of viem, or a {@link Signer}. */
export type SignerInput = Hex | Uint8Array | Signer | AccountLike | WalletClientLike;

function keySigner(key: Uint8Array): Signer {
  if (key.length !== 32) throw new TypeError(`a private key has 32 bytes, not ${key.length}`);
  return { address: addressOfKey(key), signRequest: ({ digest }) => signDigest(digest, key) };
}

function accountSigner(account: AccountLike): Signer {
  const { address, sign, signTypedData } = account;
  if (sign !== undefined) return { address, signRequest: ({ digest }) => sign({ hash: digest }) };
  if (signTypedData === undefined) throw new TypeError('the account can sign no typed data: give the wallet client instead');
  return { address, signRequest: ({ typed }) => signTypedData(typed()) };
}

/** A new random private key. Store it: no other key can replace it. */
export const generateKey = (): Hex => toHex(randomBytes(32));

/** The signer for an input. Throws a TypeError for inputs that cannot sign. */
export function signerOf(input: SignerInput): Signer {
  if (typeof input === 'string') return keySigner(fromHex(input));
  if (input instanceof Uint8Array) return keySigner(input);
  if ('signRequest' in input) return input;
  if ('address' in input) return accountSigner(input);
  const client = input as WalletClientLike;
  const { account } = client;
  if (account === undefined) throw new TypeError('the wallet client has no account');
  return { address: account.address, signRequest: ({ typed }) => client.signTypedData({ account, ...typed() }) };
}
