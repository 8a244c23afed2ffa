/**
 * Login and signing key of the user. Both are in memory. Only on the user's request are they stored in the tab's
 * sessionStorage, which the browser clears when the tab closes; nothing is ever written to localStorage.
 */

import { KedgeClient, type Schemas, type Session, type Signer, type Trust, followSequencerKeys, signerOf } from '@kedge/sdk';
import { signal } from '@preact/signals';
import { fetchKeepingTexts } from './exact-answers';

/** Signer of changes. */
export type Signing =
  /** A private key in the page's memory. */
  | { readonly kind: 'page'; readonly key: `0x${string}`; readonly signer: Signer }
  /** A browser wallet, which shows each request to its owner. */
  | { readonly kind: 'wallet'; readonly name: string; readonly signer: Signer };

/** A login. */
export interface Login {
  readonly client: KedgeClient;
  readonly wallet: Schemas['WalletView'];
  /** Null for a read-only login. */
  readonly signing: Signing | null;
}

/** Stored form of a login. */
interface Kept {
  readonly session: Session;
  readonly key: `0x${string}` | null;
}

const STORED_AS = 'kedge.console.login';
const baseUrl = location.origin;
// A page shows a refusal immediately; only a signed request with an unknown outcome is sent again.
const retry = { attempts: 1 };

/** The current login. */
export const login = signal<Login | null>(null);
/** Whether login and key are stored in the tab's sessionStorage. */
export const isKept = signal(false);
/** Whether a stored login is being restored. */
export const isRestoring = signal(false);

const anonymous = new KedgeClient({ baseUrl, retry, fetch: fetchKeepingTexts });

/** The client of the login, or one without credentials for public data. */
export const reader = (): KedgeClient => login.value?.client ?? anonymous;

/** The trusted log: the server's first statement, extended by later keys that follow from it. */
export async function trustNow(): Promise<Trust> {
  const client = reader();
  const [trust, keys] = await Promise.all([client.trust(), client.listSequencerKeys({ limit: 1000 }).take(1024)]);
  return followSequencerKeys(keys, trust);
}

/** A signer with a key held by the page. Throws for an invalid key. */
export function pageKey(text: string): Signing {
  const digits = text.trim().replace(/^0x/i, '');
  if (!/^[0-9a-f]{64}$/i.test(digits)) throw new Error('A key has 64 hexadecimal digits.');
  const key = `0x${digits.toLowerCase()}` as const;
  return { kind: 'page', key, signer: signerOf(key) };
}

function store(): void {
  const { value } = login;
  const session = value?.client.session ?? null;
  if (!isKept.value || value === null || session === null) {
    sessionStorage.removeItem(STORED_AS);
    return;
  }
  const kept: Kept = { session, key: value.signing?.kind === 'page' ? value.signing.key : null };
  sessionStorage.setItem(STORED_AS, JSON.stringify(kept));
}

function clientOf(signing: Signing | null, session: Session | null): KedgeClient {
  const client: KedgeClient = new KedgeClient({
    baseUrl,
    retry,
    fetch: fetchKeepingTexts,
    ...(signing === null ? {} : { signer: signing.signer }),
    ...(session === null ? {} : { session }),
    onSession: (renewed) => {
      if (login.value?.client !== client) return;
      if (renewed === null) login.value = null;
      store();
    },
  });
  return client;
}

function begin(next: Login, keep: boolean): void {
  login.value = next;
  isKept.value = keep;
  store();
}

/** Registers a wallet for the signer's key, and logs it in. */
export async function register(signing: Signing, registration: Parameters<KedgeClient['registerWallet']>[0], keep: boolean): Promise<void> {
  const client = clientOf(signing, null);
  const { wallet } = await client.registerWallet(registration);
  begin({ client, wallet, signing }, keep);
}

/** Logs in, with or without a signer. */
export async function logIn(email: string, password: string, signing: Signing | null, keep: boolean): Promise<void> {
  const client = clientOf(signing, null);
  const { wallet } = await client.login(email, password);
  begin({ client, wallet, signing }, keep);
}

/** Replaces or removes the signer. */
export function signWith(signing: Signing | null): void {
  const { value } = login;
  if (value === null) return;
  login.value = { ...value, client: clientOf(signing, value.client.session), signing };
  store();
}

/** Stores login and key in the tab's sessionStorage, or removes them from it. */
export function keep(wanted: boolean): void {
  isKept.value = wanted;
  store();
}

/** Logs out. Forgets login and key even if the server is unreachable. */
export async function logOut(): Promise<void> {
  const { value } = login;
  login.value = null;
  isKept.value = false;
  store();
  await value?.client.logout();
}

/** Restores a stored login. */
export function restore(): void {
  const text = sessionStorage.getItem(STORED_AS);
  if (text === null) return;
  sessionStorage.removeItem(STORED_AS);
  isRestoring.value = true;
  resume(text)
    .catch(() => {
      // The tokens have expired, or the stored login is invalid: the user logs in again.
    })
    .finally(() => {
      isRestoring.value = false;
    });
}

async function resume(text: string): Promise<void> {
  const { session, key } = JSON.parse(text) as Kept;
  const signing = key === null ? null : pageKey(key);
  const client = clientOf(signing, session);
  // A refresh token works only once, so the renewed one must be stored even before the wallet is known.
  const wallet = await client.getOwnWallet();
  begin({ client, wallet, signing }, true);
}
