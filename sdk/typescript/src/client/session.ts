/** The credentials of a client: tokens, which are renewed when they expire, and an API key. */

import type { Session } from './options.js';

/** Keeps the tokens of one login. */
export class Credentials {
  #renewal: Promise<boolean> | null = null;

  constructor(
    public session: Session | null,
    readonly apiKey: string | null,
    readonly onSession: (session: Session | null) => void,
  ) {}

  /** The headers that show who calls. */
  headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    if (this.session !== null) headers['authorization'] = `Bearer ${this.session.access_token}`;
    if (this.apiKey !== null) headers['x-api-key'] = this.apiKey;
    return headers;
  }

  /** Replaces the tokens, and reports them. */
  set(session: Session | null): void {
    this.session = session;
    this.onSession(session);
  }

  /** Whether requests go out without the token of a wallet. */
  get areKeyAlone(): boolean {
    return this.session === null && this.apiKey !== null;
  }

  /**
   * Renews the tokens after `expired` was refused as expired. Requests that expire together renew once: a refresh token
   * is good for one use. False if there is nothing to renew with.
   */
  async renew(expired: string, refresh: (token: string) => Promise<Session>): Promise<boolean> {
    if (this.session === null) return false;
    if (this.session.access_token !== expired) return true;
    const token = this.session.refresh_token;
    if (token === undefined) return false;
    this.#renewal ??= refresh(token)
      .then((session) => {
        this.set(session);
        return true;
      })
      .finally(() => {
        this.#renewal = null;
      });
    return this.#renewal;
  }
}
