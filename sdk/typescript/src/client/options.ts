/** What a client is made with. */

import type { Trust } from '../verify/trust.js';
import type { RetryPolicy } from './retry.js';
import type { SignerInput } from './signers.js';
import type { Fetch } from './transport.js';

/** The tokens of a login. */
export interface Session {
  /** Sent as the bearer token. */
  readonly access_token: string;
  /** Gets the next pair of tokens, once. */
  readonly refresh_token?: string | undefined;
}

/** The caller's wallet, where the client cannot ask for it: with an API key alone. */
export interface OwnIds {
  /** The wallet's id. */
  readonly id: string;
  /** The id of its organization. */
  readonly organization_id: string;
}

/** What a {@link KedgeClient} is made with. */
export interface ClientOptions {
  /** The server's origin, such as `http://127.0.0.1:8080`. */
  readonly baseUrl: string;
  /** Who signs changes: a private key, an account or wallet client of viem, or any {@link Signer}. Reads need none. */
  readonly signer?: SignerInput;
  /** The tokens of an earlier login. */
  readonly session?: Session;
  /** Is called with each new pair of tokens, and with null after a logout: keep them for the next start. */
  readonly onSession?: (session: Session | null) => void;
  /** An API key, sent in `x-api-key`: alone, or with a login of the same organization. */
  readonly apiKey?: string;
  /** The caller's wallet and organization; asked of the server where they are needed. */
  readonly wallet?: OwnIds;
  /**
   * The log that receipts must be of: its domain, and the sequencer's key. Without it, the client trusts what the
   * server states when it is first asked, and holds it to that.
   */
  readonly trust?: Trust;
  /** Whether every receipt is checked; true if absent. */
  readonly verify?: boolean;
  /** When requests are sent again. */
  readonly retry?: Partial<RetryPolicy>;
  /** How long to wait for one answer, in milliseconds; 60,000 if absent. */
  readonly timeoutMs?: number;
  /** For how long a signed request may be placed, in seconds; 300 if absent, at most 86,400. */
  readonly deadlineS?: number;
  /** What sends requests; the platform's `fetch` if absent. `@kedge/sdk/node` has a faster one. */
  readonly fetch?: Fetch;
}
