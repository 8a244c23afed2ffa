/** Verification of webhook messages (Standard Webhooks). */

import { Webhook } from 'standardwebhooks';
import type { Schemas } from './client/operation.js';
import { parseJson } from './reading/json.js';
import { Refused, refuseUnless } from './refused.js';

/** Message of a webhook: an event, and the receipt of its action. */
export type WebhookMessage = Schemas['EventView'] & { readonly receipt: Schemas['Receipt'] | null };

/** Headers in the forms of various frameworks. */
export type HeadersLike = Headers | Readonly<Record<string, string | string[] | undefined>>;

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

function headerOf(headers: HeadersLike, name: string): string {
  const entries: Iterable<[string, string | string[] | undefined]> = headers instanceof Headers ? headers : Object.entries(headers);
  const found = [...entries].find(([given]) => given.toLowerCase() === name)?.[1];
  const value = Array.isArray(found) ? found[0] : found;
  refuseUnless(value !== undefined, `the header ${name} is missing`);
  return value;
}

/**
 * Verifies a message's signature and time (five minutes either way) and returns the event. Pass the unchanged body, and
 * both secrets while a secret is being rotated. Process each `webhook-id` once, because messages can arrive more than
 * once.
 *
 * @throws Refused if the message is not the server's, or too old
 */
export function verifyWebhook(body: string | Uint8Array, headers: HeadersLike, secrets: string | readonly string[]): WebhookMessage {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const given = Object.fromEntries(NAMES.map((name) => [name, headerOf(headers, name)]));
  const reasons: string[] = [];
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets) {
    try {
      new Webhook(secret).verify(text, given);
      return parseJson(text) as WebhookMessage;
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  throw new Refused(`the message is not signed with a known secret: ${reasons.join('; ') || 'no secret was given'}`);
}
