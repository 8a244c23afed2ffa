/** Sends requests until their outcome is known, with the retries that the server requests. */

import type { Domain } from '../protocol/domain.js';
import { refusalOf } from './answers.js';
import { AlreadyDone, ServerError, TransportError } from './errors.js';
import type { Nonces } from './nonces.js';
import { Attempts, type RetryPolicy, retries } from './retry.js';
import type { Credentials } from './session.js';
import type { Session } from './options.js';
import type { Signer } from './signers.js';
import { type SignedRequest, type UnsaltedAction, signRequest } from './signing.js';
import type { Incoming, Outgoing, Transport } from './transport.js';

/** Limit on signing a request again because its nonce was already spent. */
const NEW_NONCES_MAX = 5;

/** A request without its credentials and signature. */
export interface Plain extends Outgoing {
  /** Whether credentials are sent. */
  readonly authorized: boolean;
}

/** Signed content of a change. */
export interface Changes {
  readonly actions: readonly UnsaltedAction[];
  readonly atomic: boolean;
}

/** Signing parameters of a client. */
export interface SigningContext {
  readonly signer: Signer;
  readonly domain: Domain;
  readonly nonces: Nonces;
  readonly deadlineS: number;
  /** Reads the highest spent nonce. */
  readonly highest: () => Promise<bigint>;
}

const isSuccess = ({ status }: Incoming): boolean => status >= 200 && status < 300;

/** Whether an answer leaves the outcome open: it says so, or is a proxy's. */
const isUnknown = ({ body, code, status }: ServerError): boolean =>
  body.outcome === 'unknown' || (code === null && (status === 502 || status === 504));

const expires = ({ head }: SignedRequest): boolean => BigInt(Math.floor(Date.now() / 1000)) >= head.deadline;

let turn: Promise<void> | null = null;

/**
 * Resolves at the end of this turn of the event loop. Requests signed in one turn are sent together, so that the server
 * seals them together: they then share one header, whose signature is verified once. Without `setImmediate` there is no
 * wait.
 */
function endOfTurn(): Promise<void> | null {
  if (typeof setImmediate !== 'function') return null;
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = null;
      resolve();
    });
  });
  return turn;
}

/** A signed request with its retries, until its outcome is known. */
class SignedSending {
  /** While false, no earlier attempt can have been carried out, so signing again is safe. */
  #unsure = false;
  /** True once an outcome was unknown: this request may have spent the nonce, and still be on its way to the disk. */
  #asking = false;
  #newNonces = 0;
  readonly #attempts: Attempts;

  constructor(
    readonly sender: Sender,
    readonly plain: Plain,
    readonly changes: Changes,
    readonly context: SigningContext,
  ) {
    this.#attempts = new Attempts(sender.policy, plain.signal);
  }

  async run(): Promise<{ answer: Incoming; signed: SignedRequest }> {
    let signed = await this.#sign();
    try {
      for (;;) {
        const next = await this.#send(signed);
        if (next instanceof Error) throw next;
        if (typeof next === 'object') return { answer: next, signed };
        if (next === 'sign') {
          this.context.nonces.release(signed.head.nonce);
          signed = await this.#sign();
        }
      }
    } finally {
      this.context.nonces.release(signed.head.nonce);
    }
  }

  /** Sends once. Returns the successful answer, the next step, or the final error. */
  async #send(signed: SignedRequest): Promise<Incoming | 'again' | 'sign' | Error> {
    let answer: Incoming;
    try {
      await endOfTurn();
      answer = await this.sender.once({ ...this.plain, headers: { ...this.plain.headers, ...signed.headers } });
    } catch (error) {
      return this.#lost(signed, error);
    }
    this.#learn(answer);
    return isSuccess(answer) ? answer : this.#refused(signed, refusalOf(answer.status, answer.headers, answer.text), answer);
  }

  async #sign(): Promise<SignedRequest> {
    const { signer, domain, nonces, deadlineS, highest } = this.context;
    const nonce = await nonces.take(highest);
    try {
      const deadline = BigInt(Math.floor(Date.now() / 1000) + deadlineS);
      return await signRequest(signer, domain, this.changes.actions, { nonce, deadline, atomic: this.changes.atomic });
    } catch (error) {
      nonces.release(nonce);
      throw error;
    }
  }

  #learn({ headers }: Incoming): void {
    const highest = headers.get('x-nonce-highest');
    if (highest !== null) this.context.nonces.learn(BigInt(highest));
  }

  async #askAgain(signed: SignedRequest, error: Error, retryAfterS: number | null): Promise<'again' | Error> {
    if (expires(signed)) return error;
    return (await this.#attempts.askAgain(retryAfterS)) ? 'again' : error;
  }

  async #lost(signed: SignedRequest, error: unknown): Promise<'again' | Error> {
    if (!(error instanceof TransportError)) throw error;
    [this.#unsure, this.#asking] = [true, true];
    return this.#askAgain(signed, error, null);
  }

  async #refused(signed: SignedRequest, error: Error, answer: Incoming): Promise<'again' | 'sign' | Error> {
    if (!(error instanceof ServerError)) return error;
    const spent = error.code === 'NONCE_REUSED';
    const { reason } = error.body;
    if (isUnknown(error)) [this.#unsure, this.#asking] = [true, true];
    else if (answer.status === 503 && error.body.outcome !== 'nothing_done') this.#unsure = true;
    if (spent && reason === 'done' && this.#unsure) {
      if (await this.#stands(signed)) return alreadyDone(error, signed);
      // Another request of this key spent the nonce, so this one will never be done.
      [this.#unsure, this.#asking] = [false, false];
    }
    const inFlight = this.#asking && ((spent && reason !== 'refused') || error.code === 'IDEMPOTENCY_IN_PROGRESS');
    if (isUnknown(error) || inFlight) return this.#askAgain(signed, error, error.retryAfterS);
    if (retries(this.sender.policy, error.status)) return this.#retry(signed, error);
    if (!spent || this.#unsure || this.#newNonces === NEW_NONCES_MAX) return error;
    this.#newNonces += 1;
    await this.#resynchronise(signed, answer);
    return 'sign';
  }

  async #retry(signed: SignedRequest, error: ServerError): Promise<'again' | 'sign' | Error> {
    if (!(await this.#attempts.again(error.retryAfterS))) return error;
    if (!expires(signed)) return 'again';
    return this.#unsure ? error : 'sign';
  }

  /** Skips nonces spent by other clients of this key. */
  async #resynchronise(signed: SignedRequest, answer: Incoming): Promise<void> {
    const stated = answer.headers.get('x-nonce-highest');
    this.context.nonces.resynchronise(signed.head.nonce, stated === null ? await this.context.highest() : BigInt(stated));
  }

  /**
   * Whether the log holds an action of the request. During registration nothing can be read, and no other client has
   * the key.
   */
  async #stands(signed: SignedRequest): Promise<boolean> {
    if (!this.plain.authorized) return true;
    for (const id of signed.actionIds) {
      const answer = await this.sender.unsigned({ method: 'GET', path: `/ebus/actions/${id}`, headers: {}, authorized: true, signal: this.plain.signal });
      if (isSuccess(answer)) return true;
      if (answer.status !== 404) throw refusalOf(answer.status, answer.headers, answer.text);
    }
    return false;
  }
}

function alreadyDone(error: ServerError, signed: SignedRequest): AlreadyDone {
  const { sequence } = error.body;
  return new AlreadyDone(sequence === undefined || sequence === null ? null : BigInt(sequence as string | number), signed.actionIds);
}

/** Sends requests with credentials and retries. */
export class Sender {
  constructor(
    readonly transport: Transport,
    readonly credentials: Credentials,
    readonly policy: RetryPolicy,
  ) {}

  /** Sends once. Renews expired tokens, and then sends the same bytes again. */
  async once(plain: Plain): Promise<Incoming> {
    const answer = await this.transport.exchange(this.#with(plain));
    if (answer.status !== 401 || !plain.authorized || !answer.text.includes('TOKEN_EXPIRED')) return answer;
    const expired = this.credentials.session?.access_token;
    if (expired === undefined || !(await this.renew(expired))) return answer;
    return this.transport.exchange(this.#with(plain));
  }

  /** Fetches the next pair of tokens. */
  renew(expired: string): Promise<boolean> {
    return this.credentials.renew(expired, async (token) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ refresh_token: token });
      const answer = await this.transport.exchange({ method: 'POST', path: '/wallets/token/refresh', headers, body });
      if (!isSuccess(answer)) throw refusalOf(answer.status, answer.headers, answer.text);
      return JSON.parse(answer.text) as Session;
    });
  }

  #with(plain: Plain): Outgoing {
    return plain.authorized ? { ...plain, headers: { ...plain.headers, ...this.credentials.headers() } } : plain;
  }

  /** Sends a request that changes nothing. Resolves with the last answer after retries. */
  async unsigned(plain: Plain): Promise<Incoming> {
    const attempts = new Attempts(this.policy, plain.signal);
    for (;;) {
      const answer = await this.once(plain);
      if (isSuccess(answer) || !retries(this.policy, answer.status)) return answer;
      const refusal = refusalOf(answer.status, answer.headers, answer.text);
      if (!(await attempts.again(refusal instanceof ServerError ? refusal.retryAfterS : null))) return answer;
    }
  }

  /** Opens a streamed answer, such as a download. Throws the refusal if it is unsuccessful. */
  async open(plain: Plain): Promise<Response> {
    const attempts = new Attempts(this.policy, plain.signal);
    for (let renewed = false; ; ) {
      const response = await this.transport.open(this.#with(plain));
      if (response.ok) return response;
      const refusal = refusalOf(response.status, response.headers, await response.text());
      const expired = this.credentials.session?.access_token;
      if (refusal instanceof ServerError && refusal.code === 'TOKEN_EXPIRED' && !renewed && expired !== undefined && (await this.renew(expired))) {
        renewed = true;
        continue;
      }
      const again = refusal instanceof ServerError && retries(this.policy, refusal.status);
      if (!again || !(await attempts.again(refusal.retryAfterS))) throw refusal;
    }
  }

  /** Signs and sends a request until its outcome is known. Resolves with a successful answer. */
  signed(plain: Plain, changes: Changes, context: SigningContext): Promise<{ answer: Incoming; signed: SignedRequest }> {
    return new SignedSending(this, plain, changes, context).run();
  }
}
