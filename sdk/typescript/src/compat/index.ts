/**
 * For programs that were written with the service's earlier SDKs: their modules, method names, pages (`next`) and
 * action forms, for what exists here too. What does not exist here is not there, so the compiler names it.
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

/** What a {@link CompatClient} is made with: as in the earlier SDKs, with a signer in addition. */
export interface CompatOptions {
  /** An API key or an access token. */
  token?: string;
  /** What the token is: `api_key`, `bearer` (the default), or `both`, where one token is both. */
  authMode?: 'api_key' | 'bearer' | 'both';
  /** The server's origin. */
  baseUrl: string;
  /** How long to wait for one answer, in milliseconds; 30,000 if absent. */
  timeout?: number;
  /** How often to send, and nothing else: waits are those that the service asks for. */
  retry?: { maxAttempts?: number; backoffMs?: number };
  /** What sends requests. */
  fetch?: Fetch;
  /** Who signs changes. The earlier SDKs had none; here nothing changes without a signature. */
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

/** The client of the earlier SDKs, over {@link KedgeClient}, which is its member `kedge`. */
export class CompatClient {
  /** The client underneath, for all that the earlier SDKs did not have. */
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

  /** Sends this access token from now on. A login does so by itself. */
  setToken(token: string): void {
    this.kedge.setSession({ access_token: token });
  }
}
