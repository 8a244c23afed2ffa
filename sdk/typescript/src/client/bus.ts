/** Requests of the action bus. Payloads are signed in their serialized form. */

import { writeJson } from '../reading/json.js';
import type { JsonText } from '../reading/json.js';
import type { Schemas } from './operation.js';
import type { UnsaltedAction } from './signing.js';

/** An action for the bus. A payload of {@link JsonText} is sent and signed unchanged. */
export type ActionInput =
  | Schemas['ActionBody']
  | { action_type: string; object_id?: string; template_id?: string; payload?: JsonText };

/** The action to sign, and its JSON in the body. */
export function busAction(input: ActionInput): { action: UnsaltedAction; slice: string } {
  const { action_type: kind, object_id: object, template_id: template, payload, ...others } = input as {
    action_type: string;
    object_id?: string;
    template_id?: string;
    payload?: unknown;
  };
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) throw new TypeError(`an action has no member ${unknown}`);
  const [member, target] = kind === 'mint' ? ['template_id', template] : ['object_id', object];
  if (target === undefined) throw new TypeError(`the action ${kind} needs a member ${member}`);
  const text = payload === undefined ? '{}' : writeJson(payload);
  const slice = `{"action_type":${JSON.stringify(kind)},"${member}":${JSON.stringify(target)},"payload":${text}}`;
  return { action: { kind, target, payload: text }, slice };
}
