/** Shared core of all operations: from a call to its verified answer. */

import { type Hex, utf8 } from '../protocol/bytes.js';
import { ZERO, digestForm, sha256 } from '../protocol/hash.js';
import { OPERATIONS, Operations } from '../generated/operations.js';
import { writeJson } from '../reading/json.js';
import type { Trust } from '../verify/trust.js';
import { refusalOf, valueOf } from './answers.js';
import { Nonces } from './nonces.js';
import type { AnswerOf, Call, ChangeOptions, Operation, Schemas, Signs } from './operation.js';
import type { ClientOptions, OwnIds, Session } from './options.js';
import { Listing } from './pages.js';
import { RETRY_DEFAULT } from './retry.js';
import { type Changes, type Plain, Sender, type SigningContext } from './sender.js';
import { Credentials } from './session.js';
import { type Signer, signerOf } from './signers.js';
import type { SignedRequest } from './signing.js';
import { type Fetch, Transport } from './transport.js';
import { TrustKeeper } from './trust-keeper.js';

const TIMEOUT_MS_DEFAULT = 60_000;
const DEADLINE_S_DEFAULT = 300;

/** The path with its query. */
export function pathOf(operation: Operation, { path = {}, query = {} }: Call): string {
  const filled = operation.path.replace(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(path[name] as string));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) parameters.set(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  const text = parameters.toString();
  return text === '' ? filled : `${filled}?${text}`;
}

/** The headers of a call's options. */
export function headersOf(operation: Operation, { requestId, ifNoneMatch, ifMatch, idempotencyKey }: ChangeOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  if (requestId !== undefined) headers['x-request-id'] = requestId;
  if (ifNoneMatch !== undefined) headers['if-none-match'] = ifNoneMatch;
  if (ifMatch !== undefined) headers['if-match'] = ifMatch;
  if (operation.keyed) headers['idempotency-key'] = idempotencyKey ?? crypto.randomUUID();
  return headers;
}

/** The value of an answer, and the text that it was read from. */
export interface TextAnswer<T> {
  readonly value: T;
  readonly text: string;
}

/** A request, and the part of it that is signed. */
export interface Prepared {
  readonly plain: Plain;
  readonly changes: Changes;
  /** Whether the caller chose the `Idempotency-Key`; the answer may then be that of an earlier request. */
  readonly keyGiven: boolean;
}

/** Base class of the client, with all operations. */
export abstract class Core extends Operations {
  /** @internal */
  protected readonly sender: Sender;
  /** @internal */
  protected readonly keeper: TrustKeeper;
  readonly #signer: Signer | null;
  readonly #nonces = new Nonces();
  readonly #verify: boolean;
  readonly #deadlineS: number;
  #own: Promise<OwnIds> | null;

  constructor(options: ClientOptions) {
    super();
    const { baseUrl, signer, session, onSession, apiKey, wallet, trust, verify = true, retry, timeoutMs, deadlineS, fetch } = options;
    const send: Fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
    const transport = new Transport(baseUrl.replace(/\/+$/, ''), send, timeoutMs ?? TIMEOUT_MS_DEFAULT);
    const credentials = new Credentials(session ?? null, apiKey ?? null, onSession ?? (() => {}));
    this.sender = new Sender(transport, credentials, { ...RETRY_DEFAULT, ...retry });
    this.#signer = signer === undefined ? null : signerOf(signer);
    this.#verify = verify;
    this.#deadlineS = deadlineS ?? DEADLINE_S_DEFAULT;
    this.#own = wallet === undefined ? null : Promise.resolve(wallet);
    const source = {
      domain: () => this.call<Schemas['DomainView']>(OPERATIONS.getDomain, {}),
      sequencerKeys: () => this.list<AnswerOf<'listSequencerKeys'>>(OPERATIONS.listSequencerKeys, { query: { limit: 1000 } }).take(1024),
    };
    this.keeper = new TrustKeeper(source, trust);
  }

  /** Address of the signer. Throws a TypeError if the client has none. */
  get address(): string {
    return this.signer().address;
  }

  /** Tokens of the current login, or null. */
  get session(): Session | null {
    return this.sender.credentials.session;
  }

  /** The trusted log, for verifying receipts. */
  trust(): Promise<Trust> {
    return this.keeper.trust();
  }

  /** @internal */
  protected signer(): Signer {
    if (this.#signer === null) throw new TypeError('a change must be signed: give the client a signer');
    return this.#signer;
  }

  /** @internal */
  protected setOwn(wallet: OwnIds | null): void {
    this.#own = wallet === null ? null : Promise.resolve(wallet);
  }

  /** Wallet and organization of the caller. */
  protected own(): Promise<OwnIds> {
    if (this.#own === null) {
      const read = this.call<Schemas['OwnWallet']>(OPERATIONS.getOwnWallet, {});
      this.#own = read;
      read.catch(() => {
        this.#own = null;
      });
    }
    return this.#own;
  }

  /** @internal */
  protected override async call<T>(operation: Operation, call: Call): Promise<T> {
    if (operation.signs !== null) return this.change<T>(operation, await this.prepare(operation, operation.signs, call));
    return (await this.read<T>(operation, call)).value;
  }

  /** Performs an operation that signs nothing. The text of the answer shows what its value does not: how numbers are spelled. */
  protected async read<T>(operation: Operation, call: Call): Promise<TextAnswer<T>> {
    const answer = await this.sender.unsigned(this.plain(operation, call, call.body === undefined ? undefined : writeJson(call.body)));
    if (answer.status < 200 || answer.status >= 300) throw refusalOf(answer.status, answer.headers, answer.text);
    return { value: valueOf<T>(answer, operation.answer), text: answer.text };
  }

  /** @internal */
  protected override list<P extends { items: unknown[]; cursor: string | null }>(operation: Operation, call: Call): Listing<P> {
    const { cursor: begin } = ((operation.body === null ? call.query : call.body) ?? {}) as { cursor?: string | null };
    const fetchPage = (cursor: string | null): Promise<P> => {
      if (cursor === null) return this.call<P>(operation, call);
      const next = operation.body === null ? { query: { ...call.query, cursor } } : { body: { ...(call.body as object), cursor } };
      return this.call<P>(operation, { ...call, ...next });
    };
    return new Listing<P>(fetchPage, begin);
  }

  /** @internal */
  protected plain(operation: Operation, call: Call, body: string | FormData | undefined): Plain {
    const options = call.options ?? {};
    const headers = headersOf(operation, options);
    if (typeof body === 'string') headers['content-type'] = 'application/json';
    const sent = body === undefined ? {} : { body };
    return { method: operation.method, path: pathOf(operation, call), headers, ...sent, authorized: operation.authorized, signal: options.signal };
  }

  async #targetOf(signs: Signs, call: Call): Promise<string> {
    if (signs.target === 'path') return call.path?.['id'] as string;
    if (signs.target === 'template') return (call.body as { template_id: string }).template_id;
    if (signs.target === 'wallet') return (await this.own()).id;
    if (signs.target === 'organization') return (await this.own()).organization_id;
    return '';
  }

  /** @internal */
  protected async prepare(operation: Operation, signs: Signs, call: Call): Promise<Prepared> {
    const body = operation.body === null ? undefined : writeJson(call.body);
    const payload = payloadOf(signs, call, body);
    const actions = [{ kind: signs.kind, target: await this.#targetOf(signs, call), payload }];
    return { plain: this.plain(operation, call, body), changes: { actions, atomic: false }, keyGiven: call.options?.idempotencyKey !== undefined };
  }

  /** Signs and sends a change of one action, and verifies its receipt. */
  protected async change<T>(operation: Operation, prepared: Prepared): Promise<T> {
    const { value, signed, isEarlier } = await this.submit<T & { receipt: Schemas['Receipt'] }>(operation, prepared);
    const { receipt } = value;
    if (this.#verify) await this.keeper.receipt(receipt, (isEarlier ? receipt.leaf.content : signed.contents[0]) as Hex);
    return value;
  }

  /** Signs and sends a request of many actions, and verifies their receipt. Returns the content hashes too. */
  protected async changeMany(operation: Operation, prepared: Prepared): Promise<{ value: AnswerOf<'submitBatch'>; contents: readonly Hex[] }> {
    const { value, signed, isEarlier } = await this.submit<AnswerOf<'submitBatch'>>(operation, prepared);
    const stated = (i: number): Hex => (value.results[i] as { content?: Hex }).content ?? ZERO;
    const contents = isEarlier ? signed.contents.map((_, i) => stated(i)) : signed.contents;
    if (this.#verify && value.receipt !== null) await this.keeper.batchReceipt(value.receipt, contents);
    return { value, contents };
  }

  /** `isEarlier` marks an answer of an earlier, differently signed request with the same chosen key. */
  private async submit<T>(operation: Operation, { plain, changes, keyGiven }: Prepared): Promise<{ value: T; signed: SignedRequest; isEarlier: boolean }> {
    const { domain } = await this.keeper.trust();
    const context: SigningContext = {
      signer: this.signer(),
      domain,
      nonces: this.#nonces,
      deadlineS: this.#deadlineS,
      highest: () => (plain.authorized ? this.#highestNonce() : Promise.resolve(0n)),
    };
    const { answer, signed } = await this.sender.signed(plain, changes, context);
    const isEarlier = keyGiven && answer.headers.get('idempotent-replayed') === 'true';
    return { value: valueOf<T>(answer, operation.answer), signed, isEarlier };
  }

  /** Highest spent nonce of the signer. With only an API key it is unknown until the first refusal states it. */
  async #highestNonce(): Promise<bigint> {
    if (this.sender.credentials.areKeyAlone) return 0n;
    const { nonces } = await this.call<Schemas['OwnWallet']>(OPERATIONS.getOwnWallet, {});
    const { address } = this.signer();
    const own = nonces.find((nonce) => nonce.address.toLowerCase() === address.toLowerCase());
    return BigInt(own?.highest ?? 0);
  }
}

/** The signed payload of a request with this body. */
export function payloadOf(signs: Signs, call: Call, body: string | undefined): string {
  if (signs.payload === 'empty') return '';
  if (signs.payload === 'member') return JSON.stringify({ [signs.member as string]: call.path?.['id'] });
  const hasSecret = signs.payload === 'digest' || (signs.payload === 'secret' && (call.body as { password?: unknown }).password != null);
  return hasSecret ? digestForm(sha256(utf8(body as string))) : (body as string);
}
