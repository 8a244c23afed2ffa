/** Client of a Kedge server. */

import { OPERATIONS } from '../generated/operations.js';
import { randomBytes, toBase64 } from '../protocol/bytes.js';
import { actionId } from '../protocol/chain.js';
import { digestForm, sha256Stream } from '../protocol/hash.js';
import { refuseUnless } from '../refused.js';
import { Batch, type BatchOptions, type BatchReply } from './batch.js';
import { type ActionInput, busAction } from './bus.js';
import { Core, type TextAnswer } from './core.js';
import type { AnswerOf, BodyOf, Call, CallOptions, ChangeOptions, Operation, QueryOf, Schemas } from './operation.js';
import type { ClientOptions, Session } from './options.js';
import { ObjectReads, StateReads, TemplateReads } from './proven-reads.js';
import { type SignerInput, signerOf } from './signers.js';
import { signConsent } from './signing.js';
import { resumingEvents } from './stream.js';

/** A registration, without the fields that the client adds. */
export type Registration = Omit<BodyOf<'registerWallet'>, 'address' | 'blind'>;

/** A change of the caller's wallet, without the fields that the client adds. */
export type WalletChange = Omit<BodyOf<'updateOwnWallet'>, 'blind'>;

/** A file to upload. */
export interface Upload {
  /** The bytes; in Node, `openAsBlob(path)` reads a file as it is sent. */
  readonly file: Blob | Uint8Array;
  /** File name, which is signed. */
  readonly name: string;
}

/** Options of an event stream. */
export interface StreamOptions {
  /** Ends the stream. */
  signal?: AbortSignal;
  /** Resumes after the event with this `position`. */
  lastEventId?: string;
}

/** Options of a download. */
export interface DownloadOptions extends CallOptions {
  /** Range of the content, such as `bytes=0-99`. */
  range?: string;
}

const randomBlind = (): string => toBase64(randomBytes(16));

const pathWith = (path: string, query: Record<string, unknown>): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
};

/**
 * A client of one server, for one caller. It signs every change, checks every receipt, hands out nonces to as many
 * requests in flight as you like, and sends again what the service asks to send again.
 *
 * ```ts
 * const kedge = new KedgeClient({ baseUrl: 'http://127.0.0.1:8080', signer: privateKey });
 * await kedge.registerWallet({ email, password });
 * const template = await kedge.createTemplate({ name: 'ticket' });
 * ```
 *
 * Every operation of the service is a method under its name in the OpenAPI document. Refusals are {@link ServerError};
 * an answer that does not verify is {@link Refused}.
 */
export class KedgeClient extends Core {
  /** Objects, with proofs of their state. */
  readonly objects: ObjectReads;
  /** Templates and their variations, with proofs of their state. */
  readonly templates: TemplateReads;
  /** Proofs of any id's entry. */
  readonly state: StateReads;

  constructor(options: ClientOptions) {
    super(options);
    const source = { keeper: this.keeper, read: <T>(operation: Operation, call: Call): Promise<TextAnswer<T>> => this.read<T>(operation, call) };
    this.objects = new ObjectReads(source);
    this.templates = new TemplateReads(source);
    this.state = new StateReads(source);
  }

  /**
   * Reads the newest checkpoint, and verifies that the sequencer signed it.
   *
   * @throws Refused if it did not, or if the checkpoint ends before `at_least` or `min_sequence`
   */
  override async getCheckpoint(query: QueryOf<'getCheckpoint'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getCheckpoint'>> {
    const { value, text } = await this.read<AnswerOf<'getCheckpoint'>>(OPERATIONS.getCheckpoint, { query, options });
    const checkpoint = await this.keeper.checkpoint(text);
    for (const least of [query.at_least, query.min_sequence]) {
      refuseUnless(least == null || checkpoint.sequence >= BigInt(least), `the checkpoint ends at sequence ${checkpoint.sequence}, before ${least}`);
    }
    const { checkpoint: stated, signature } = value;
    this.keeper.see(checkpoint, { checkpoint: stated, signature });
    return value;
  }

  /** Registers a wallet with the signer's key, and logs it in. */
  async registerWallet(registration: Registration, options: ChangeOptions = {}): Promise<AnswerOf<'registerWallet'>> {
    const body = { ...registration, address: this.address, blind: randomBlind() };
    const operation = OPERATIONS.registerWallet;
    const prepared = await this.prepare(operation, operation.signs, { body, options });
    // Registration needs no credentials, and those of another wallet would interfere.
    const plain = { ...prepared.plain, authorized: false };
    const answer = await this.change<AnswerOf<'registerWallet'>>(operation, { ...prepared, plain });
    this.#began(answer);
    return answer;
  }

  /** Logs in. The client then acts as that wallet, and renews its tokens automatically. */
  async login(email: string, password: string, options: CallOptions = {}): Promise<AnswerOf<'login'>> {
    const answer = await this.call<AnswerOf<'login'>>(OPERATIONS.login, { body: { email, password }, options });
    this.#began(answer);
    return answer;
  }

  #began(answer: Schemas['LoggedIn']): void {
    this.sender.credentials.set({ access_token: answer.access_token, refresh_token: answer.refresh_token });
    this.setOwn(answer.wallet);
  }

  /** Sets the tokens to send, or null for none. */
  setSession(session: Session | null): void {
    this.setOwn(null);
    this.sender.credentials.set(session);
  }

  /**
   * Fetches the next pair of tokens, with the login's refresh token or another one. The client does this itself when a
   * token expires.
   */
  async refreshToken(refreshToken?: string): Promise<Session> {
    const { credentials } = this.sender;
    if (refreshToken !== undefined) credentials.session = { access_token: credentials.session?.access_token ?? '', refresh_token: refreshToken };
    const { session } = credentials;
    if (session === null || !(await this.sender.renew(session.access_token))) throw new TypeError('there is no refresh token');
    return credentials.session as Session;
  }

  /** Ends the login and revokes its refresh tokens. */
  async logout(options: CallOptions = {}): Promise<void> {
    const token = this.session?.refresh_token;
    if (token !== undefined) await this.call(OPERATIONS.logout, { body: { refresh_token: token }, options });
    this.sender.credentials.set(null);
    this.setOwn(null);
  }

  /** Changes the caller's wallet. A new password requires the current one. */
  updateOwnWallet(change: WalletChange, options: ChangeOptions = {}): Promise<AnswerOf<'updateOwnWallet'>> {
    const body = change.password == null ? change : { ...change, blind: randomBlind() };
    return this.call(OPERATIONS.updateOwnWallet, { body, options });
  }

  /**
   * Adds a signing key to the caller's wallet, with that key's consent. For a key on another device, create the body
   * there with {@link signConsent}, and pass it to `addWalletKey`.
   */
  async addSigner(input: SignerInput, options: ChangeOptions = {}): Promise<AnswerOf<'addWalletKey'>> {
    const [{ domain }, { id }] = await Promise.all([this.trust(), this.own()]);
    return this.addWalletKey(await signConsent(signerOf(input), domain, id), options);
  }

  /** Submits one action of the bus. When it returns, the action is durable. */
  submitAction(input: ActionInput, options: ChangeOptions = {}): Promise<AnswerOf<'submitAction'>> {
    const { action, slice } = busAction(input);
    const plain = this.plain(OPERATIONS.submitAction, { options }, slice);
    return this.change(OPERATIONS.submitAction, { plain, changes: { actions: [action], atomic: false }, keyGiven: options.idempotencyKey !== undefined });
  }

  /**
   * Submits 1 to 500 actions under one signature: independent of each other, or, with `atomic`, all or none. {@link
   * batch} builds the actions and returns their outcomes.
   */
  async submitBatch(body: { actions: ActionInput[]; atomic?: boolean }, options: BatchOptions = {}): Promise<BatchReply> {
    const atomic = body.atomic ?? false;
    const keyGiven = options.idempotencyKey !== undefined;
    if (keyGiven && options.minimal === true) throw new TypeError('a minimal answer does not show what an earlier request with the key did: leave one of them out');
    const all = body.actions.map(busAction);
    const text = `{"actions":[${all.map(({ slice }) => slice).join(',')}],"atomic":${atomic}}`;
    const plain = this.plain(OPERATIONS.submitBatch, { options }, text);
    if (options.minimal === true) plain.headers['prefer'] = 'return=minimal';
    const changes = { actions: all.map(({ action }) => action), atomic };
    const { value, contents } = await this.changeMany(OPERATIONS.submitBatch, { plain, changes, keyGiven });
    return Object.assign(value, { actionIds: contents.map(actionId), contents });
  }

  /** An empty batch. */
  batch({ atomic = false }: { atomic?: boolean } = {}): Batch {
    return new Batch(this, atomic);
  }

  /** Uploads a file. The request signs its digest, which the log holds. */
  async uploadFile({ file, name }: Upload, options: ChangeOptions = {}): Promise<AnswerOf<'uploadFile'>> {
    const blob = file instanceof Blob ? file : new Blob([file as Uint8Array<ArrayBuffer>]);
    const digest = sha256Stream();
    const reader = blob.stream().getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) digest.update(piece.value);
    const form = new FormData();
    form.set('name', name);
    form.set('file', blob, name);
    const operation = OPERATIONS.uploadFile;
    const action = { kind: operation.signs.kind, target: name, payload: digestForm(digest.digest()) };
    const plain = this.plain(operation, { options }, form);
    return this.change(operation, { plain, changes: { actions: [action], atomic: false }, keyGiven: options.idempotencyKey !== undefined });
  }

  /** Opens a file's content, or a range of it, as a `Response` with a streamed body. */
  getFileContent(id: string, options: DownloadOptions = {}): Promise<Response> {
    const plain = this.plain(OPERATIONS.getFileContent, { path: { id }, options }, undefined);
    if (options.range !== undefined) plain.headers['range'] = options.range;
    return this.sender.open(plain);
  }

  /** Streams the whole log as lines of JSON; {@link verifyExport} verifies them. */
  async *exportLog(query: QueryOf<'exportLog'> = {}, options: CallOptions = {}): AsyncGenerator<string, void, undefined> {
    const response = await this.sender.open(this.plain(OPERATIONS.exportLog, { query, options }, undefined));
    const decoder = new TextDecoder();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield decoder.decode(piece.value, { stream: true });
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  /**
   * Events as they happen: from now on, after `after_sequence`, or after the event of `lastEventId`. The stream
   * survives breaks of the connection and restarts of the server, without gaps or repeats; it ends when you stop
   * reading.
   *
   * ```ts
   * for await (const event of kedge.streamEvents({ type: 'object.created' })) …
   * ```
   */
  streamEvents(query: QueryOf<'streamEvents'> = {}, { signal, lastEventId }: StreamOptions = {}): AsyncGenerator<Schemas['EventView'], void, undefined> {
    const { after_sequence: after, last_event_id: last, ...filters } = query;
    const operation = OPERATIONS.streamEvents;
    const begin = lastEventId ?? last;
    const start = begin != null ? { lastEventId: begin } : after == null ? {} : { afterSequence: String(after) };
    return resumingEvents(
      (at, end) => {
        const headers: Record<string, string> = { accept: 'text/event-stream' };
        if (at.lastEventId !== undefined) headers['last-event-id'] = at.lastEventId;
        const path = pathWith(operation.path, { ...filters, after_sequence: at.afterSequence });
        return this.sender.open({ method: 'GET', path, headers, authorized: true, signal: end });
      },
      start,
      signal,
    );
  }
}
