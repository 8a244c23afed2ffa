/** Requests of the action bus: bodies whose payloads are signed as they are written. */

import { writeJson } from '../reading/json.js';
import type { JsonText } from '../reading/json.js';
import type { Schemas } from './operation.js';
import type { UnsaltedAction } from './signing.js';

/** An action for the bus. A payload as {@link JsonText} is sent and signed as it stands. */
export type ActionInput =
  | Schemas['ActionBody']
  | { action_type: string; object_id?: string; template_id?: string; payload?: JsonText };

/** The action that is signed, and its JSON in the body. */
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
