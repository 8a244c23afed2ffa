/** Templates: list, creation, and a single template with its variations and a mint form. */

import { JsonText, type Schemas, writeJson } from '@kedge/sdk';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { addressOf, useChoices } from '../address';
import { type ExactAnswer, objectIn, readingExactly } from '../exact-answers';
import { useDoing, useLoading, usePaging } from '../loading';
import { neededOf, objectOf, textOf } from '../fields';
import { Ago } from '../pieces/ago';
import { Area, Choice, Field, Form, Tick } from '../pieces/forms';
import { List, Table } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part, Signed } from '../pieces/page';
import { ItsProof } from '../pieces/proven';
import { SchemaFields } from '../pieces/schema-fields';
import { Copy, Count, Fact, Facts, Hash, Json, Stored, Time } from '../pieces/text';
import { filled } from '../schema/draft';
import { type ExactObject, exactOf, isObject, memberOf, merged, patchOf } from '../schema/exact';
import { useSchemaForm } from '../schema/form';
import { propertiesShape } from '../schema/shape';
import { reader } from '../session';

/** Descriptions of a rule's wallets. */
const WHO: Record<string, string> = {
  owner: 'the object’s owner',
  issuer: 'owners and admins of the organization',
  anyone: 'any wallet',
};

/** A template to begin with: its schema draws the fields of a mint. */
const EXAMPLE = {
  name: 'ticket',
  description: 'A seat for one evening',
  schema: `{
  "type": "object",
  "properties": {
    "name": { "type": "string", "title": "Name", "maxLength": 80, "description": "What the console calls the ticket." },
    "category": { "title": "Category", "enum": ["stalls", "balcony", "box"] },
    "row": { "type": "integer", "title": "Row", "minimum": 1, "x-index": true },
    "seat": { "type": "integer", "title": "Seat", "minimum": 1 },
    "price": { "type": "number", "title": "Price", "minimum": 0 },
    "evening": { "type": "string", "format": "date", "title": "Evening" },
    "used": { "type": "boolean", "title": "Used", "default": false }
  },
  "required": ["name", "category", "row", "seat"],
  "additionalProperties": false
}`,
};

function NewTemplate({ example }: { example: typeof EXAMPLE | null }) {
  const [, go] = useLocation();
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (example === null) return;
    form.current?.scrollIntoView({ block: 'start' });
    form.current?.querySelector<HTMLInputElement>('[name=name]')?.focus({ preventScroll: true });
  }, [example]);
  const doing = useDoing(async (form: FormData) => {
    const schema = objectOf(form, 'schema', 'Schema');
    const supply = textOf(form, 'max_supply');
    const properties = objectOf(form, 'properties', 'Default properties');
    const made = await reader().createTemplate({
      name: neededOf(form, 'name', 'Name'),
      description: textOf(form, 'description') ?? '',
      ...(properties === null ? {} : { properties: properties as never }),
      ...(schema === null ? {} : { schema: schema as never }),
      ...(supply === null ? {} : { max_supply: supply }),
      public_access: form.get('public_access') !== null,
    });
    go(`/templates/${made.id}`);
  });
  return (
    <div ref={form}>
      <Form label="New template" submit="Sign and make" doing={doing}>
        <Field label="Name" name="name" required hint="Unique in your organization." defaultValue={example?.name} />
        <Field label="Description (optional)" name="description" defaultValue={example?.description} />
        <Area label="Default properties (optional)" name="properties" placeholder={'{ "gate": "D" }'} />
        <Area
          label="Schema of the properties (optional)"
          name="schema"
          rows={example === null ? 5 : 16}
          placeholder={'{ "type": "object" }'}
          hint="JSON Schema, 2020-12. Forms and tables of the console show its properties."
          defaultValue={example?.schema}
        />
        <Field label="Most objects (optional)" name="max_supply" inputMode="numeric" pattern="[0-9]+" />
        <Tick label="Anybody may read the template and its objects" name="public_access" />
      </Form>
    </div>
  );
}

/** The templates of the organization. */
export function Templates() {
  const templates = usePaging(() => reader().listTemplates({ limit: 50, order: 'desc' }), []);
  const [choices, change] = useChoices('/templates');
  const example = choices.get('example') === EXAMPLE.name ? EXAMPLE : null;
  const begin = (
    <span class="start">
      <span>There are no templates yet.</span>
      <button type="button" class="main" onClick={() => change({ example: EXAMPLE.name })}>
        Begin with an example
      </button>
    </span>
  );
  return (
    <Page title="Templates" lead="A template defines what its objects hold, and who may do what with them.">
      <List
        label="Templates"
        of={templates}
        keyOf={({ id }) => id}
        none={begin}
        columns={[
          {
            name: 'Name',
            show: ({ id, name }) => (
              <a href={`#/templates/${id}`}>
                <Stored text={name} />
              </a>
            ),
          },
          { name: 'Description', show: ({ description }) => <Stored text={description} /> },
          {
            name: 'Objects',
            show: ({ id, name }) => (
              <a href={addressOf('/objects', { template_id: id })} aria-label={`show objects of ${name}`}>
                show
              </a>
            ),
          },
          { name: 'Minted', show: ({ minted_count: count }) => <Count of={count} />, isNumber: true },
          { name: 'Most', show: ({ max_supply: most }) => (most === null ? 'no limit' : <Count of={most} />), isNumber: true },
          { name: 'Made', show: ({ created_at: at }) => <Ago at={at} /> },
        ]}
      />
      <Part title="New template">
        <Signed>
          <NewTemplate key={example?.name} example={example} />
        </Signed>
      </Part>
    </Page>
  );
}

interface MintProps {
  readonly template: ExactAnswer<Schemas['TemplateView']>;
  readonly variations: readonly Schemas['VariationView'][];
}

/** The fields of a mint next to the properties. */
function MintTerms({ variations, onVariation }: { variations: MintProps['variations']; onVariation?: (id: string) => void }) {
  if (variations.length === 0) return null;
  return (
    <Choice
      label="Variation"
      name="variation_id"
      options={[['', 'none'], ...variations.map(({ id, name }) => [id, name] as const)]}
      onChange={(event) => onVariation?.(event.currentTarget.value)}
    />
  );
}

const For = () => <Field label="For (optional)" name="to" hint="A wallet’s id or address; yours if empty." />;

/** Mints with the form’s choices. Resolves with the object’s id. */
async function minted(template: string, form: FormData, properties: JsonText | null): Promise<string> {
  const [to, variation] = [textOf(form, 'to'), textOf(form, 'variation_id')];
  const made = await reader().mintObject({
    template_id: template,
    ...(properties === null ? {} : { properties: properties as never }),
    ...(variation === null ? {} : { variation_id: variation }),
    ...(to === null ? {} : { to }),
  });
  return made.id;
}

function PlainMint({ template, variations }: MintProps) {
  const [, go] = useLocation();
  const doing = useDoing(async (form: FormData) => {
    go(`/objects/${await minted(template.value.id, form, objectOf(form, 'properties', 'Properties'))}`);
  });
  return (
    <Form label="Mint" submit="Sign and mint" doing={doing}>
      <Area label="Properties (optional)" name="properties" placeholder={'{ "seat": 1 }'} hint="They are laid over the template’s defaults." />
      <MintTerms variations={variations} />
      <For />
    </Form>
  );
}

/** A mint whose fields the template’s schema describes. What the defaults and the variation hold is not sent again. */
function DrawnMint({ template, variations, schema }: MintProps & { schema: ExactObject }) {
  const [, go] = useLocation();
  const shape = useMemo(() => propertiesShape(schema), [schema]);
  const [begun, setBegun] = useState(() => objectIn(template.exact, 'properties'));
  const start = (base: ExactObject): ExactObject => {
    const value = filled(shape, base);
    return isObject(value) ? value : {};
  };
  const form = useSchemaForm(shape, start(begun));
  const onVariation = (id: string): void => {
    const variation = variations.find((one) => one.id === id);
    const next = merged(objectIn(template.exact, 'properties'), exactOf(variation?.properties ?? {})) as ExactObject;
    setBegun(next);
    form.begin(start(next));
  };
  const doing = useDoing(async (sent: FormData) => {
    const nulls: string[] = [];
    const patch = patchOf(begun, form.read(), (pointer) => nulls.push(pointer));
    if (nulls.length > 0) form.refuse(nulls.map((pointer) => ({ pointer, message: 'A mint cannot set null: null removes a member.' })));
    const properties = Object.keys(patch).length === 0 ? null : new JsonText(writeJson(patch));
    try {
      go(`/objects/${await minted(template.value.id, sent, properties)}`);
    } catch (error) {
      form.refused(error, '/properties');
    }
  });
  return (
    <Form label="Mint" submit="Sign and mint" doing={doing} noValidate>
      <MintTerms variations={variations} onVariation={onVariation} />
      <SchemaFields of={form} label="Properties" />
      <For />
    </Form>
  );
}

function Mint(mint: MintProps) {
  const schema = memberOf(mint.template.exact, 'schema');
  return isObject(schema) ? <DrawnMint {...mint} schema={schema} /> : <PlainMint {...mint} />;
}

function NewVariation({ id, onDone }: { id: string; onDone: () => void }) {
  const doing = useDoing(async (form: FormData) => {
    const properties = objectOf(form, 'properties', 'Properties of the variation');
    const variations = [{ name: neededOf(form, 'name', 'Name of the variation'), properties: properties ?? {} }];
    await reader().createVariations(id, { variations } as never);
    onDone();
    return 'The variation was made.';
  });
  return (
    <Form label="New variation" submit="Sign and make" doing={doing} onEmptied={() => {}}>
      <Field label="Name of the variation" name="name" required />
      <Area label="Properties of the variation" name="properties" placeholder={'{ "colour": "red" }'} />
    </Form>
  );
}

/** One template. */
export function OneTemplate({ id }: { id: string }) {
  const [turn, setTurn] = useState(0);
  const template = useLoading(() => readingExactly((options) => reader().getTemplate(id, {}, options)), [id]);
  const variations = usePaging(() => reader().listVariations(id, { limit: 100 }), [id, turn]);
  return (
    <Page title="Template">
      <Loaded of={template}>
        {({ value: of, exact }) => (
          <>
            <Facts>
              <Fact name="Name">
                <Stored text={of.name} />
              </Fact>
              {of.description ? (
                <Fact name="Description">
                  <Stored text={of.description} />
                </Fact>
              ) : null}
              <Fact name="Id">
                <Hash value={of.id} whole /> <Copy text={of.id} what="the id" />
              </Fact>
              <Fact name="Minted">
                <Count of={of.minted_count} /> {of.max_supply === null ? 'of any number' : <>of <Count of={of.max_supply} /></>}
              </Fact>
              <Fact name="Objects">
                <a href={addressOf('/objects', { template_id: of.id })}>show them</a>
              </Fact>
              <Fact name="Readers">{of.public_access ? 'anybody' : 'the organization and owners'}</Fact>
              <Fact name="Made">
                <Time at={of.created_at} />
              </Fact>
              <Fact name="Integrity">
                <Hash value={of.integrity_hash} whole />
              </Fact>
            </Facts>
            <ItsProof of={{ value: of, exact }} link={<a href="#/actions">see the actions</a>} onStale={template.reload} />
            <Part title="Mint an object">
              <Signed>
                <Mint template={{ value: of, exact }} variations={variations.items} />
              </Signed>
            </Part>
            <Part title="Default properties">
              <Json value={of.properties} label="Default properties" />
            </Part>
            {of.schema ? (
              <Part title="Schema">
                <Json value={of.schema} label="Schema" />
              </Part>
            ) : null}
            <Part title="Who may do what">
              {of.actions.length === 0 ? null : (
                <Table
                  label="Rules"
                  items={of.actions}
                  keyOf={({ kind }) => kind}
                  columns={[
                    { name: 'Action', show: ({ kind }) => <Stored text={kind} /> },
                    { name: 'Who', show: ({ who }) => WHO[who] ?? who },
                  ]}
                />
              )}
              <p class="faint">
                {of.actions.length === 0 ? 'The template has no rules of its own' : 'What no rule names'}: owners and admins of the organization mint, an
                object’s owner does everything else with it, and nobody may do kinds that begin with “x.”.
              </p>
            </Part>
            <Part title="Variations">
              <List
                label="Variations"
                of={variations}
                keyOf={(one) => one.id}
                none="There are none."
                columns={[
                  { name: 'Name', show: ({ name }) => <Stored text={name} /> },
                  { name: 'Properties', show: ({ name, properties }) => <Json value={properties} label={`Properties of ${name}`} /> },
                  { name: 'Made', show: ({ created_at: at }) => <Time at={at} /> },
                ]}
              />
              <Signed>
                <details>
                  <summary>New variation</summary>
                  <NewVariation id={id} onDone={() => setTurn(turn + 1)} />
                </details>
              </Signed>
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
