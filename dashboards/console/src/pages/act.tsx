/** Actions on an object: choice, preview, signature and submission. */

import { type ActionInput, JsonText, type Schemas, ServerError, writeJson } from '@kedge/sdk';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type ExactAnswer, objectIn, readingExactly } from '../exact-answers';
import { neededOf, objectOf } from '../fields';
import { type Doing, type Loading, useDoing } from '../loading';
import { nameIn } from '../naming';
import { offered } from '../offering';
import { type Change, Changes, changesOf } from '../pieces/difference';
import { Final } from '../pieces/final';
import { Area, Field, Form } from '../pieces/forms';
import { Fault, Notice } from '../pieces/notices';
import { SchemaFields } from '../pieces/schema-fields';
import { Stored } from '../pieces/text';
import { type ExactObject, isList, isObject, memberOf, patchOf } from '../schema/exact';
import { useSchemaForm } from '../schema/form';
import { type Shape, propertiesShape } from '../schema/shape';
import { login, reader } from '../session';

type ObjectView = Schemas['ObjectView'];
type TemplateView = Schemas['TemplateView'];
type PropertiesShape = Shape & { kind: 'object' };

const LABELS: Record<string, string> = {
  update: 'Update',
  set_attributes: 'Set attributes',
  delete_attributes: 'Delete attributes',
  transfer: 'Transfer',
  lock: 'Lock',
  unlock: 'Unlock',
  emit: 'Emit an event',
  burn: 'Burn',
};

const HINTS: Record<string, string> = {
  update: 'A merge patch of the properties: null removes a member.',
  set_attributes: 'An object with the member attributes: {"attributes": {"seat.row": 7}}.',
  delete_attributes: 'An object with the member attributes: {"attributes": ["seat.row"]}.',
};

const WITHOUT_PAYLOAD = ['lock', 'unlock', 'burn'];

/** What each of the forms needs. */
interface ActProps {
  readonly kind: string;
  readonly object: ExactAnswer<ObjectView>;
  /** What the schema describes; null without one. */
  readonly shape: PropertiesShape | null;
  readonly onDone: (message: string) => void;
  readonly onBegin: () => void;
}

/** The changes that a preview tells of. Throws if it tells of a refusal. */
function changesIn(answer: ExactObject, object: ExactAnswer<ObjectView>, shape: Shape | null): Change[] {
  const results = memberOf(answer, 'results');
  const [result] = isList(results) ? results : [];
  if (isObject(result) && isObject(result['error'])) {
    const { code, body } = JSON.parse(writeJson(result['error'])) as Schemas['ApiError'];
    throw new ServerError(422, code, body, new Headers());
  }
  const after = objectIn(result, 'object');
  const of = (name: string, label: string): Change[] => {
    const [before, then] = [memberOf(object.exact, name), memberOf(after, name)];
    return before === then ? [] : [{ pointer: name, name: label, before, after: then }];
  };
  return [...of('status', 'Status'), ...of('owner_address', 'Owner'), ...changesOf(objectIn(object.exact, 'properties'), objectIn(after, 'properties'), shape)];
}

/** The question before an action that cannot be undone. */
function Asked({ kind, object, to, onSure, onClose }: { kind: string; object: ExactAnswer<ObjectView>; to: string; onSure: () => void; onClose: () => void }) {
  const name = nameIn(objectIn(object.exact, 'properties'));
  const { id } = object.value;
  const terms = {
    word: name ?? id.slice(-6),
    what: name === null ? 'the last 6 characters of the object’s id' : 'the object’s name',
    onSure,
    onClose,
  };
  const it = name === null ? <span class="mono whole">{id}</span> : <Stored text={name} />;
  if (kind === 'burn') {
    return (
      <Final title="Burn this object for good?" submit="Burn it" {...terms}>
        <p>
          Burning is final. {it} can never be changed, transferred or unlocked again, and no one can bring it back. What happened to it stays in the
          log.
        </p>
      </Final>
    );
  }
  return (
    <Final title="Give this object away?" submit="Transfer it" {...terms}>
      <p>
        A transfer cannot be undone. {it} will belong to <span class="mono whole">{to}</span>, and only its new owner can give it back.
      </p>
    </Final>
  );
}

/** Where a preview has the payload of its only action. */
const PREVIEWED = '/actions/0';

/** A form for one kind of action. `inputOf` reads it; `refused` shows at the fields what the server refuses of them. */
function ActForm({
  kind,
  object,
  shape,
  inputOf,
  refused,
  children,
  onDone,
  onBegin,
}: ActProps & { inputOf: (form: FormData) => ActionInput; refused?: (error: unknown, prefix: string) => never; children?: ComponentChildren }) {
  const [changes, setChanges] = useState<Change[] | null>(null);
  const [asked, setAsked] = useState<{ input: ActionInput; to: string } | null>(null);
  /** Why the fields could not be read. */
  const [unread, setUnread] = useState<unknown>(null);
  const shown = (error: unknown, prefix: string): never => {
    if (refused === undefined) throw error;
    return refused(error, prefix);
  };
  const looking = useDoing(async (form: HTMLFormElement | null) => {
    if (form === null) return;
    setChanges(null);
    const { payload, ...input } = inputOf(new FormData(form)) as { payload?: JsonText };
    const actions = [{ ...input, payload: payload ?? {} }];
    try {
      const { exact } = await readingExactly((options) => reader().previewActions({ actions, signer: reader().address } as never, options));
      setChanges(changesIn(exact, object, shape));
    } catch (error) {
      shown(error, `${PREVIEWED}/payload`);
    }
  });
  const sending = useDoing(async (input: ActionInput) => {
    try {
      const { receipt } = await reader().submitAction(input);
      onDone(`Done at sequence ${receipt?.leaf.sequence}. The receipt was checked.`);
    } catch (error) {
      shown(error, '/payload');
    }
  });
  const clear = (): void => {
    setUnread(null);
    looking.clear();
    sending.clear();
    onBegin();
  };
  const run = async (form: FormData): Promise<boolean> => {
    clear();
    try {
      const input = inputOf(form);
      if (kind !== 'burn' && kind !== 'transfer') return await sending.run(input);
      setAsked({ input, to: String(form.get('to') ?? '') });
    } catch (error) {
      setUnread(error);
    }
    return false;
  };
  const doing: Doing<[FormData]> = { ...sending, run, error: unread ?? sending.error ?? looking.error };
  const look = (form: HTMLFormElement | null): void => {
    clear();
    void looking.run(form);
  };
  return (
    <>
      <Form
        label="An action"
        submit="Sign and send"
        doing={doing}
        noValidate={refused !== undefined}
        beside={
          <button type="button" disabled={looking.isBusy} onClick={(event) => look(event.currentTarget.form)}>
            Preview
          </button>
        }
      >
        {/* A preview is of what the fields held when it was made. */}
        <div onInput={() => setChanges(null)}>{children}</div>
        {changes === null ? null : <Changes of={changes} label="What would happen" none="Nothing would change but the version." />}
      </Form>
      {asked === null ? null : (
        <Asked
          kind={kind}
          object={object}
          to={asked.to}
          onClose={() => setAsked(null)}
          onSure={() => {
            setAsked(null);
            void sending.run(asked.input);
          }}
        />
      )}
    </>
  );
}

/** An update whose fields the schema of the template describes. */
function DrawnUpdate({ shape, ...act }: ActProps & { shape: PropertiesShape }) {
  const { value, exact } = act.object;
  const properties = objectIn(exact, 'properties');
  const form = useSchemaForm(shape, properties);
  useEffect(() => form.begin(properties), [value.version]);
  const inputOf = (): ActionInput => {
    const nulls: string[] = [];
    const patch = patchOf(properties, form.read(), (pointer) => nulls.push(pointer));
    if (nulls.length > 0) {
      form.refuse(nulls.map((pointer) => ({ pointer, message: 'An update cannot set null: null removes a member. Set it as an attribute.' })));
    }
    if (Object.keys(patch).length === 0) throw new Error('Nothing is changed yet: change a field first.');
    return { action_type: act.kind, object_id: value.id, payload: new JsonText(`{"properties":${writeJson(patch)}}`) };
  };
  return (
    <ActForm {...act} shape={shape} inputOf={inputOf} refused={(error, prefix) => form.refused(error, `${prefix}/properties`)}>
      <SchemaFields of={form} label="Properties" />
    </ActForm>
  );
}

/** An action of the template’s own, whose payload has a schema. */
function DrawnPayload({ payload, ...act }: ActProps & { payload: PropertiesShape }) {
  const form = useSchemaForm(payload, {});
  const inputOf = (): ActionInput => ({ action_type: act.kind, object_id: act.object.value.id, payload: new JsonText(writeJson(form.read())) });
  return (
    <ActForm {...act} inputOf={inputOf} refused={form.refused}>
      <SchemaFields of={form} label="Payload" />
    </ActForm>
  );
}

/** An action whose payload is written as JSON, or that has none. */
function PlainAct(act: ActProps) {
  const { kind } = act;
  const payloadOf = (form: FormData): JsonText | undefined => {
    if (WITHOUT_PAYLOAD.includes(kind)) return undefined;
    if (kind === 'transfer') return new JsonText(JSON.stringify({ to: neededOf(form, 'to', 'To') }));
    const text = objectOf(form, 'payload', 'Payload');
    if (kind !== 'update') return text ?? undefined;
    return new JsonText(`{"properties":${text?.text ?? '{}'}}`);
  };
  const inputOf = (form: FormData): ActionInput => {
    const payload = payloadOf(form);
    return { action_type: kind, object_id: act.object.value.id, ...(payload === undefined ? {} : { payload }) };
  };
  return (
    <ActForm {...act} inputOf={inputOf}>
      {kind === 'transfer' ? <Field label="To" name="to" required hint="A wallet’s id or address." /> : null}
      {kind === 'transfer' || WITHOUT_PAYLOAD.includes(kind) ? null : (
        <Area label="Payload" name="payload" placeholder="{ }" hint={HINTS[kind] ?? 'A JSON object, signed as it is written here.'} />
      )}
    </ActForm>
  );
}

/** The schema of the payload of a template’s own kind, as a shape; null if fields cannot show it. */
function payloadShape(template: ExactAnswer<TemplateView> | null, kind: string): PropertiesShape | null {
  const rules = template === null ? undefined : memberOf(template.exact, 'actions');
  const rule = isList(rules) ? rules.find((one) => isObject(one) && one['kind'] === kind) : undefined;
  const schema = isObject(rule) ? memberOf(rule, 'schema') : undefined;
  return isObject(schema) && schema['type'] === 'object' ? propertiesShape(schema) : null;
}

/** The actions that the object allows its viewer now, with a form for the chosen one. */
export function Act({ object, template, onDone }: { object: ExactAnswer<ObjectView>; template: Loading<ExactAnswer<TemplateView> | null>; onDone: () => void }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const [turn, setTurn] = useState(0);
  const [done, setDone] = useState<string | null>(null);
  const known = template.value;
  const shape = useMemo(() => {
    const schema = known === null ? undefined : memberOf(known.exact, 'schema');
    return isObject(schema) ? propertiesShape(schema) : null;
  }, [known]);
  const wallet = login.value?.wallet;
  if (wallet === undefined || (known === null && template.error === null)) return <p class="faint">Reading…</p>;
  const { kinds, why } = offered(object.value, known?.value.actions ?? [], wallet);
  const kind = chosen !== null && kinds.includes(chosen) ? chosen : kinds[0];
  const payload = kind?.startsWith('x.') ? payloadShape(known, kind) : null;
  const act = {
    object,
    shape,
    onBegin: () => setDone(null),
    onDone: (message: string) => {
      setDone(message);
      setChosen(null);
      setTurn(turn + 1);
      onDone();
    },
  };
  const key = `${kind} ${turn}`;
  return (
    <>
      <Fault error={template.error} />
      {kind === undefined ? (
        <p class="faint">{why}</p>
      ) : (
        <fieldset class="kinds">
          <legend>Action</legend>
          {kinds.map((one) => (
            <label key={one} class={one === 'burn' ? 'pill bad' : 'pill'}>
              <input type="radio" name="kind" value={one} checked={one === kind} onChange={() => setChosen(one)} />
              <Stored text={LABELS[one] ?? one} />
            </label>
          ))}
        </fieldset>
      )}
      {kind === undefined ? null : kind === 'update' && shape !== null ? (
        <DrawnUpdate key={key} kind={kind} {...act} shape={shape} />
      ) : payload !== null ? (
        <DrawnPayload key={key} kind={kind} {...act} payload={payload} />
      ) : (
        <PlainAct key={key} kind={kind} {...act} />
      )}
      {done === null ? null : <Notice kind="good">{done}</Notice>}
    </>
  );
}
