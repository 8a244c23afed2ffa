/** Actions on an object: choice, preview, signature and submission. */

import { type ActionInput, JsonText, type Schemas } from '@kedge/sdk';
import { useState } from 'preact/hooks';
import { useDoing, useLoading } from '../loading';
import { neededOf, objectOf } from '../fields';
import { Area, Choice, Field, Form } from '../pieces/forms';
import { Fault } from '../pieces/notices';
import { Json } from '../pieces/text';
import { reader } from '../session';

const KINDS: readonly (readonly [kind: string, label: string])[] = [
  ['update', 'Update properties'],
  ['set_attributes', 'Set attributes'],
  ['delete_attributes', 'Delete attributes'],
  ['transfer', 'Transfer'],
  ['lock', 'Lock'],
  ['unlock', 'Unlock'],
  ['emit', 'Emit an event'],
  ['burn', 'Burn, for good'],
];

const HINTS: Record<string, string> = {
  update: 'A merge patch of the properties: null removes a member.',
  set_attributes: 'An object with the member attributes: {"attributes": {"seat.row": 7}}.',
  delete_attributes: 'An object with the member attributes: {"attributes": ["seat.row"]}.',
};

function payloadOf(kind: string, form: FormData): JsonText | undefined {
  if (kind === 'transfer') return new JsonText(JSON.stringify({ to: neededOf(form, 'to', 'To') }));
  const text = objectOf(form, 'payload', 'Payload');
  if (kind !== 'update') return text ?? undefined;
  return new JsonText(`{"properties":${text?.text ?? '{}'}}`);
}

/** Form for an action on an object. */
export function Act({ object, onDone }: { object: Schemas['ObjectView']; onDone: () => void }) {
  const [kind, setKind] = useState('update');
  const [preview, setPreview] = useState<unknown>(null);
  const template = useLoading(() => reader().getTemplate(object.template_id), [object.template_id]);
  const own = (template.value?.actions ?? []).map((rule) => rule.kind).filter((named) => named.startsWith('x.'));
  const inputOf = (form: FormData): ActionInput => {
    const payload = payloadOf(kind, form);
    return { action_type: kind, object_id: object.id, ...(payload === undefined ? {} : { payload }) };
  };
  const looking = useDoing(async (form: HTMLFormElement | null) => {
    if (form === null) return;
    const { payload, ...input } = inputOf(new FormData(form)) as { payload?: JsonText };
    const actions = [{ ...input, payload: payload ?? {} }];
    const { results } = await reader().previewActions({ actions, signer: reader().address } as never);
    setPreview(results[0] ?? null);
  });
  const doing = useDoing(async (form: FormData) => {
    const { receipt } = await reader().submitAction(inputOf(form));
    setPreview(null);
    onDone();
    return `Done at sequence ${receipt?.leaf.sequence}. The receipt was checked.`;
  });
  const hasPayload = !['transfer', 'lock', 'unlock', 'burn'].includes(kind);
  return (
    <Form
      label="An action"
      submit="Sign and send"
      doing={doing}
      onEmptied={() => setKind('update')}
      beside={
        <button type="button" disabled={looking.isBusy} onClick={(event) => void looking.run(event.currentTarget.form)}>
          Preview
        </button>
      }
    >
      <Choice label="Action" name="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)} options={[...KINDS, ...own.map((name) => [name, name] as const)]} />
      {kind === 'transfer' ? <Field label="To" name="to" required hint="A wallet’s id or address." /> : null}
      {hasPayload ? <Area label="Payload" name="payload" placeholder="{ }" hint={HINTS[kind] ?? 'A JSON object, signed as it is written here.'} /> : null}
      <Fault error={looking.error} />
      {preview === null ? null : <Json value={preview} label="What would happen" />}
    </Form>
  );
}
