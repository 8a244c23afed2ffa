/** Credentials of a client: tokens, renewed when they expire, and an API key. */

import type { Session } from './options.js';

/** Keeps the tokens of one login. */
export class Credentials {
  #renewal: Promise<boolean> | null = null;

  constructor(
    public session: Session | null,
    readonly apiKey: string | null,
    readonly onSession: (session: Session | null) => void,
  ) {}

  /** Headers that authenticate the caller. */
  headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    if (this.session !== null) headers['authorization'] = `Bearer ${this.session.access_token}`;
    if (this.apiKey !== null) headers['x-api-key'] = this.apiKey;
    return headers;
  }

  /** Replaces the tokens, and reports them to the caller. */
  set(session: Session | null): void {
    this.session = session;
    this.onSession(session);
  }

  /** Whether requests carry only an API key. */
  get areKeyAlone(): boolean {
    return this.session === null && this.apiKey !== null;
  }

  /**
   * Renews the tokens after `expired` was refused. Requests that expire together renew once, because a refresh token
   * works only once. False if there is no refresh token.
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
