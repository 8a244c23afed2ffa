/** The EIP-712 domain of a log, and the typed data that is signed under it. */

import { type Hex, bigEndian, fromHex, word } from './bytes.js';
import { hashOf, textHash } from './hash.js';

/** What fixes a log's domain: the chain and the first contract that the log was anchored in. */
export interface Domain {
  /** The id of the chain. */
  readonly chainId: bigint;
  /** The address of the log's first anchor contract. */
  readonly verifyingContract: Hex;
}

/** The name and version in every domain of the protocol. */
export const PROTOCOL = { name: 'Digital Object Service', version: '3' } as const;

/** A domain from numbers and addresses as people write them. */
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

/** The domain separator: also the head of the empty log. */
export function separatorOf(domain: Domain): Hex {
  let separator = separators.get(domain);
  if (separator === undefined) {
    const { chainId, verifyingContract } = domain;
    separator = hashOf(DOMAIN_TYPE, textHash(PROTOCOL.name), textHash(PROTOCOL.version), number(chainId), address(verifyingContract));
    separators.set(domain, separator);
  }
  return separator;
}

/** The digest that is signed for a struct's hash under a domain. */
export const digestOf = (domain: Domain, structHash: Hex): Hex => hashOf('0x1901', separatorOf(domain), structHash);

/** One thing to do to one target: the words that a wallet shows before it signs. */
export interface Action {
  /** What is done, such as `mint`. */
  readonly kind: string;
  /** What it is done to: an id, a name, or nothing. */
  readonly target: string;
  /** The exact text that is sent. */
  readonly payload: string;
  /** The salt of this action: 32 bytes. */
  readonly salt: Hex;
}

/** Everything of a signed request but its actions. */
export interface RequestHead {
  /** The address that signs. */
  readonly signer: Hex;
  /** A number that the signer spends once. */
  readonly nonce: bigint;
  /** Unix time in seconds until which the request may be placed. */
  readonly deadline: bigint;
  /** All actions or none. */
  readonly atomic: boolean;
}

/** The salt of the action at an index of a request, from the request's seed. */
export const saltOf = (seed: Hex, index: number): Hex => hashOf(seed, bigEndian(index, 2));

/** `hashStruct` of an action. */
export const actionHash = ({ kind, target, payload, salt }: Action): Hex =>
  hashOf(ACTION_TYPE, textHash(kind), textHash(target), textHash(payload), salt);

/** The digest of a request, from its actions' hashes alone. */
export function requestDigest(domain: Domain, head: RequestHead, hashes: readonly Hex[]): Hex {
  const { signer, nonce, deadline, atomic } = head;
  const actions = hashOf(...hashes);
  return digestOf(domain, hashOf(REQUEST_TYPE, address(signer), number(nonce), number(deadline), number(atomic ? 1 : 0), actions));
}

/** The digest of a key's consent to join a wallet, which is given by its id. */
export const consentDigest = (domain: Domain, wallet: string, key: Hex): Hex =>
  digestOf(domain, hashOf(CONSENT_TYPE, textHash(wallet), address(key)));

/** What the sequencer signs of a batch. */
export interface Header {
  readonly number: bigint;
  readonly first_sequence: bigint;
  readonly count: bigint;
  readonly previous_head: Hex;
  readonly head: Hex;
  readonly root: Hex;
  readonly history: Hex;
  readonly state: Hex;
  /** Milliseconds since 1970. */
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

/** A signed statement of how far the log reaches: what is anchored. */
export interface Checkpoint {
  readonly batches: bigint;
  readonly sequence: bigint;
  readonly head: Hex;
  readonly history: Hex;
  readonly state: Hex;
  /** Milliseconds since 1970. */
  readonly issued_at_ms: bigint;
}

/** `hashStruct` of a checkpoint. */
export const checkpointHash = (of: Checkpoint): Hex =>
  hashOf(CHECKPOINT_TYPE, number(of.batches), number(of.sequence), of.head, of.history, of.state, number(of.issued_at_ms));

/** A request as EIP-712 typed data, in the shape that viem and `eth_signTypedData_v4` accept. */
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

/** The typed data of a request, for a wallet to show and sign. */
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

/** The typed data of a key's consent to join a wallet, for a wallet program to show and sign. */
export const typedConsent = (domain: Domain, wallet: string, key: Hex): TypedConsent => ({
  domain: { ...PROTOCOL, ...domain },
  types: CONSENT_TYPES,
  primaryType: 'KeyConsent',
  message: { wallet, key },
});
