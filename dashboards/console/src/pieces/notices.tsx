/** Messages about failures, successes and loading. */

import { AlreadyDone, Contradiction, Refused, ServerError, TransportError } from '@kedge/sdk';
import type { ComponentChildren } from 'preact';
import type { Loading } from '../loading';
import { login } from '../session';
import { Stored } from './text';

/** A message in the page. */
export function Notice({ kind, children }: { kind: 'bad' | 'good' | 'plain'; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** Only the caller with a lesser role is sent to one with more: an owner has no one to ask. */
function forbiddenHint(): string | null {
  const role = login.value?.wallet.role;
  return role === undefined || role === 'owner' ? null : `Your role is ${role}. If that is the reason, an owner of the organization can change it.`;
}

/** The place of a pointer, as people read it. */
const placeOf = (pointer: string): string => pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~').replaceAll('_', ' ')).join(' › ') || 'the whole body';

function hintOf(error: unknown): string | null {
  if (error instanceof Contradiction) return 'The sequencer signed two headers that contradict each other. Keep the evidence, and bring a dispute.';
  if (error instanceof Refused) return 'The answer of the server does not verify. Do not rely on it.';
  if (error instanceof TransportError) return 'No answer came. If something was sent, it may have been done: reload before you try again.';
  if (error instanceof AlreadyDone) return 'It was done earlier. Reload to see it.';
  if (!(error instanceof ServerError)) return null;
  if (error.code === 'FORBIDDEN') return forbiddenHint();
  if (error.status === 429) return error.retryAfterS === null ? 'Try again later.' : `Try again in ${error.retryAfterS} s.`;
  return null;
}

/** An error: what is wrong, where, and the remedy. */
export function Fault({ error }: { error: unknown }) {
  if (error == null) return null;
  const isRefusal = error instanceof ServerError;
  const places = (isRefusal ? error.body.errors : undefined) ?? [];
  const [only] = places;
  const said = isRefusal ? error.body.message : error instanceof Error ? error.message : String(error);
  // The message about a single place is that place and its own message.
  const message = only !== undefined && places.length === 1 ? `${placeOf(only.pointer)} ${only.message}` : said;
  const hint = hintOf(error);
  return (
    <Notice kind="bad">
      <p>
        {isRefusal && error.code !== null ? <strong class="code">{error.code}</strong> : null} <Stored text={message} />
      </p>
      {places.length > 1 ? (
        <ul>
          {places.map((at) => (
            <li key={`${at.pointer} ${at.code}`}>
              <Stored text={`${placeOf(at.pointer)} ${at.message}`} />
            </li>
          ))}
        </ul>
      ) : null}
      {hint === null ? null : <p>{hint}</p>}
      {isRefusal && error.body.request_id ? <p class="faint">Request {error.body.request_id}</p> : null}
    </Notice>
  );
}

/** Loading state of a value, then the value. */
export function Loaded<T>({ of, children }: { of: Loading<T>; children: (value: T) => ComponentChildren }) {
  return (
    <>
      <Fault error={of.error} />
      {of.error !== null && !of.isBusy ? (
        <button type="button" onClick={of.reload}>
          Try again
        </button>
      ) : null}
      {of.value === null ? of.isBusy ? <p class="faint">Reading…</p> : null : children(of.value)}
    </>
  );
}
