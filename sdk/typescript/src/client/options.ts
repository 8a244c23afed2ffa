/** Options of a client. */

import type { Trust } from '../verify/trust.js';
import type { RetryPolicy } from './retry.js';
import type { SignerInput } from './signers.js';
import type { Fetch } from './transport.js';

/** Tokens of a login. */
export interface Session {
  /** Bearer token. */
  readonly access_token: string;
  /** Single-use token for the next pair. */
  readonly refresh_token?: string | undefined;
}

/** Wallet of a caller that has only an API key, which the client cannot look up. */
export interface OwnIds {
  /** The wallet's id. */
  readonly id: string;
  /** The id of its organization. */
  readonly organization_id: string;
}

/** Options of a {@link KedgeClient}. */
export interface ClientOptions {
  /** Origin of the server, such as `http://127.0.0.1:8080`. */
  readonly baseUrl: string;
  /**
   * Signer of changes: a private key, an account or wallet client of viem, or any {@link Signer}. Not needed for reads.
   */
  readonly signer?: SignerInput;
  /** Tokens of an earlier login. */
  readonly session?: Session;
  /** Called with each new pair of tokens, and with null after a logout. Store them for the next start. */
  readonly onSession?: (session: Session | null) => void;
  /** API key, sent in `x-api-key`: alone, or with a login of the same organization. */
  readonly apiKey?: string;
  /** The caller's wallet and organization; looked up if needed. */
  readonly wallet?: OwnIds;
  /**
   * The trusted log: its domain, and the sequencer's key. By default the client trusts the server's first statement,
   * and holds the server to it.
   */
  readonly trust?: Trust;
  /** Whether to verify every receipt; true by default. */
  readonly verify?: boolean;
  /** Retry policy. */
  readonly retry?: Partial<RetryPolicy>;
  /** Time limit of one answer, in milliseconds; 60,000 by default. */
  readonly timeoutMs?: number;
  /** Lifetime of a signed request, in seconds; 300 by default, at most 86,400. */
  readonly deadlineS?: number;
  /** Sends the requests; the platform's `fetch` by default. `@kedge/sdk/node` has a faster one. */
  readonly fetch?: Fetch;
}
