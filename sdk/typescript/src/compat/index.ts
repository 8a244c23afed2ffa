/**
 * Compatibility with the earlier SDKs: their modules, method names, pages (`next`) and action forms. Features that do
 * not exist here are absent, so that the compiler reports their use.
 *
 * @module
 */

import { KedgeClient } from '../client/kedge.js';
import type { ClientOptions } from '../client/options.js';
import type { SignerInput } from '../client/signers.js';
import type { Fetch } from '../client/transport.js';
import * as modules from './modules.js';

export { CompatAuthError, CompatError, CompatNotFoundError, CompatRateLimitError, CompatTimeoutError } from './errors.js';
export { type CompatAction, type CompatListParams, type CompatPage } from './forms.js';
export { type TokenPair } from './modules.js';

/** Options of a {@link CompatClient}: those of the earlier SDKs, and a signer. */
export interface CompatOptions {
  /** An API key or an access token. */
  token?: string;
  /** Kind of the token: `api_key`, `bearer` (the default), or `both`, for a token that is both. */
  authMode?: 'api_key' | 'bearer' | 'both';
  /** Origin of the server. */
  baseUrl: string;
  /** Time limit of one answer, in milliseconds; 30,000 by default. */
  timeout?: number;
  /** Number of attempts. Waits are always those that the server requests. */
  retry?: { maxAttempts?: number; backoffMs?: number };
  /** Sends the requests. */
  fetch?: Fetch;
  /** Signer of changes. The earlier SDKs had none; here every change needs a signature. */
  signer?: SignerInput;
}

function clientOptions({ token, authMode = 'bearer', baseUrl, timeout = 30_000, retry, fetch, signer }: CompatOptions): ClientOptions {
  return {
    baseUrl,
    timeoutMs: timeout,
    retry: { attempts: retry?.maxAttempts ?? 3 },
    ...(token !== undefined && authMode !== 'api_key' ? { session: { access_token: token } } : {}),
    ...(token !== undefined && authMode !== 'bearer' ? { apiKey: token } : {}),
    ...(fetch === undefined ? {} : { fetch }),
    ...(signer === undefined ? {} : { signer }),
  };
}

/** Client of the earlier SDKs, based on {@link KedgeClient}, its member `kedge`. */
export class CompatClient {
  /** The underlying client, for features that the earlier SDKs lack. */
  readonly kedge: KedgeClient;
  readonly wallets: modules.Wallets;
  readonly templates: modules.Templates;
  readonly objects: modules.Objects;
  readonly organizations: modules.Organizations;
  readonly storage: modules.Storage;
  readonly webhooks: modules.Webhooks;
  readonly eventBus: modules.EventBus;
  readonly sequencer: modules.Sequencer;
  readonly apiKeys: modules.ApiKeys;

  constructor(options: CompatOptions) {
    this.kedge = new KedgeClient(clientOptions(options));
    this.wallets = new modules.Wallets(this.kedge);
    this.templates = new modules.Templates(this.kedge);
    this.objects = new modules.Objects(this.kedge);
    this.organizations = new modules.Organizations(this.kedge);
    this.storage = new modules.Storage(this.kedge);
    this.webhooks = new modules.Webhooks(this.kedge);
    this.eventBus = new modules.EventBus(this.kedge);
    this.sequencer = new modules.Sequencer(this.kedge);
    this.apiKeys = new modules.ApiKeys(this.kedge);
  }

  /** Sets the access token to send. A login does this automatically. */
  setToken(token: string): void {
    this.kedge.setSession({ access_token: token });
  }
}
