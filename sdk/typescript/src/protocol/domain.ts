/** EIP-712 domain of a log, and its typed data. */

import { type Hex, bigEndian, fromHex, word } from './bytes.js';
import { hashOf, textHash } from './hash.js';

/** Variable part of a log's domain: the chain and the log's first anchor contract. */
export interface Domain {
  /** Chain id. */
  readonly chainId: bigint;
  /** Address of the log's first anchor contract. */
  readonly verifyingContract: Hex;
}

/** Name and version of all domains of the protocol. */
export const PROTOCOL = { name: 'Digital Object Service', version: '3' } as const;

/** A domain from a number and an address in text form. */
export const domainOf = (chainId: number | bigint, verifyingContract: string): Domain => ({
  chainId: BigInt(chainId),
  verifyingContract: verifyingContract as Hex,
});

const typeHash = (type: string): Uint8Array => textHash(type);
const number = (value: number | bigint): Uint8Array => bigEndian(value, 32);
const address = (value: Hex): Uint8Array => word(fromHex(value));

const DOMAIN_TYPE = typeHash('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)');
const ACTION_TEXT = 'Action(string kind,string target,string payload,bytes32 salt)';
const ACTION_TYPE = typeHash(ACTION_TEXT);
const REQUEST_TYPE = typeHash(`ActionRequest(address signer,uint64 nonce,uint64 deadline,bool atomic,Action[] actions)${ACTION_TEXT}`);
const BATCH_TYPE = typeHash(
  'Batch(uint64 number,uint64 firstSequence,uint32 count,bytes32 previousHead,bytes32 head,bytes32 root,bytes32 history,bytes32 state,uint64 sealedAt)',
);
const CHECKPOINT_TYPE = typeHash(
  'Checkpoint(uint64 batches,uint64 sequence,bytes32 head,bytes32 history,bytes32 state,uint64 issuedAt)',
);

const CONSENT_TYPE = typeHash('KeyConsent(string wallet,address key)');

const separators = new WeakMap<Domain, Hex>();

/** Domain separator, which is also the head of the empty log. */
export function separatorOf(domain: Domain): Hex {
  let separator = separators.get(domain);
  if (separator === undefined) {
    const { chainId, verifyingContract } = domain;
    separator = hashOf(DOMAIN_TYPE, textHash(PROTOCOL.name), textHash(PROTOCOL.version), number(chainId), address(verifyingContract));
    separators.set(domain, separator);
  }
  return separator;
}

/** Digest of a struct's hash under a domain. */
export const digestOf = (domain: Domain, structHash: Hex): Hex => hashOf('0x1901', separatorOf(domain), structHash);

/** An action on a target: the words that a wallet shows before it signs. */
export interface Action {
  /** Kind of the action, such as `mint`. */
  readonly kind: string;
  /** Target: an id, a name, or an empty text. */
  readonly target: string;
  /** Exact text of the payload. */
  readonly payload: string;
  /** Salt of this action: 32 bytes. */
  readonly salt: Hex;
}

/** A signed request without its actions. */
export interface RequestHead {
  /** Address of the signer. */
  readonly signer: Hex;
  /** Nonce, which the signer spends once. */
  readonly nonce: bigint;
  /** Deadline, Unix seconds. */
  readonly deadline: bigint;
  /** Whether one refused action refuses all. */
  readonly atomic: boolean;
}

/** Salt of an action, from the request's seed and the action's index. */
export const saltOf = (seed: Hex, index: number): Hex => hashOf(seed, bigEndian(index, 2));

/** `hashStruct` of an action. */
export const actionHash = ({ kind, target, payload, salt }: Action): Hex =>
  hashOf(ACTION_TYPE, textHash(kind), textHash(target), textHash(payload), salt);

/** Digest of a request, from its actions' hashes. */
export function requestDigest(domain: Domain, head: RequestHead, hashes: readonly Hex[]): Hex {
  const { signer, nonce, deadline, atomic } = head;
  const actions = hashOf(...hashes);
  return digestOf(domain, hashOf(REQUEST_TYPE, address(signer), number(nonce), number(deadline), number(atomic ? 1 : 0), actions));
}

/** Digest of a key's consent to join the wallet with this id. */
export const consentDigest = (domain: Domain, wallet: string, key: Hex): Hex =>
  digestOf(domain, hashOf(CONSENT_TYPE, textHash(wallet), address(key)));

/** Header of a batch, which the sequencer signs. */
export interface Header {
  readonly number: bigint;
  readonly first_sequence: bigint;
  readonly count: bigint;
  readonly previous_head: Hex;
  readonly head: Hex;
  readonly root: Hex;
  readonly history: Hex;
  readonly state: Hex;
  /** Sealing time, milliseconds since 1970. */
  readonly sealed_at_ms: bigint;
}

/** `hashStruct` of a header. */
export const batchHash = (of: Header): Hex =>
  hashOf(
    BATCH_TYPE,
    number(of.number),
    number(of.first_sequence),
    number(of.count),
    of.previous_head,
    of.head,
    of.root,
    of.history,
    of.state,
    number(of.sealed_at_ms),
  );

/** Signed statement of the log's extent, which is anchored. */
export interface Checkpoint {
  readonly batches: bigint;
  readonly sequence: bigint;
  readonly head: Hex;
  readonly history: Hex;
  readonly state: Hex;
  /** Time in milliseconds since 1970. */
  readonly issued_at_ms: bigint;
}

/** `hashStruct` of a checkpoint. */
export const checkpointHash = (of: Checkpoint): Hex =>
  hashOf(CHECKPOINT_TYPE, number(of.batches), number(of.sequence), of.head, of.history, of.state, number(of.issued_at_ms));

/** A request as EIP-712 typed data, in the form of viem and `eth_signTypedData_v4`. */
export interface TypedRequest {
  readonly domain: { name: string; version: string; chainId: bigint; verifyingContract: Hex };
  readonly types: typeof REQUEST_TYPES;
  readonly primaryType: 'ActionRequest';
  readonly message: RequestHead & { readonly actions: readonly Action[] };
}

const REQUEST_TYPES = {
  ActionRequest: [
    { name: 'signer', type: 'address' },
    { name: 'nonce', type: 'uint64' },
    { name: 'deadline', type: 'uint64' },
    { name: 'atomic', type: 'bool' },
    { name: 'actions', type: 'Action[]' },
  ],
  Action: [
    { name: 'kind', type: 'string' },
    { name: 'target', type: 'string' },
    { name: 'payload', type: 'string' },
    { name: 'salt', type: 'bytes32' },
  ],
} as const;

/** Typed data of a request, for a wallet to show and sign. */
export const typedRequest = (domain: Domain, head: RequestHead, actions: readonly Action[]): TypedRequest => ({
  domain: { ...PROTOCOL, ...domain },
  types: REQUEST_TYPES,
  primaryType: 'ActionRequest',
  message: { ...head, actions },
});

/** A key's consent to join a wallet as EIP-712 typed data. */
export interface TypedConsent {
  readonly domain: { name: string; version: string; chainId: bigint; verifyingContract: Hex };
  readonly types: typeof CONSENT_TYPES;
  readonly primaryType: 'KeyConsent';
  readonly message: { readonly wallet: string; readonly key: Hex };
}

const CONSENT_TYPES = {
  KeyConsent: [
    { name: 'wallet', type: 'string' },
    { name: 'key', type: 'address' },
  ],
} as const;

/** Typed data of a key's consent to join a wallet, for a wallet program to show and sign. */
export const typedConsent = (domain: Domain, wallet: string, key: Hex): TypedConsent => ({
  domain: { ...PROTOCOL, ...domain },
  types: CONSENT_TYPES,
  primaryType: 'KeyConsent',
  message: { wallet, key },
});
