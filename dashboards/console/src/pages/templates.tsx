/** Templates: list, creation, and a single template with its variations and a mint form. */

import type { Schemas } from '@kedge/sdk';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useDoing, useLoading, usePaging } from '../loading';
import { neededOf, objectOf, textOf } from '../fields';
import { Area, Choice, Field, Form, Tick } from '../pieces/forms';
import { List, Table } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part, Signed } from '../pieces/page';
import { ItsProof } from '../pieces/proven';
import { Copy, Count, Fact, Facts, Hash, Json, Ref, Stored, Time } from '../pieces/text';
import { reader } from '../session';

/** Descriptions of a rule's wallets. */
const WHO: Record<string, string> = {
  owner: 'the object’s owner',
  issuer: 'owners and admins of the organization',
  anyone: 'any wallet',
};

function NewTemplate() {
  const [, go] = useLocation();
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
    <Form label="New template" submit="Sign and make" doing={doing}>
      <Field label="Name" name="name" required hint="Unique in your organization." />
      <Field label="Description (optional)" name="description" />
      <Area label="Default properties (optional)" name="properties" placeholder={'{ "gate": "D" }'} />
      <Area label="Schema of the properties (optional)" name="schema" placeholder={'{ "type": "object" }'} hint="JSON Schema, 2020-12." />
      <Field label="Most objects (optional)" name="max_supply" inputMode="numeric" pattern="[0-9]+" />
      <Tick label="Anybody may read the template and its objects" name="public_access" />
    </Form>
  );
}

/** The templates of the organization. */
export function Templates() {
  const templates = usePaging(() => reader().listTemplates({ limit: 50, order: 'desc' }), []);
  return (
    <Page title="Templates" lead="A template defines what its objects hold, and who may do what with them.">
      <List
        label="Templates"
        of={templates}
        keyOf={({ id }) => id}
        none="There are no templates yet."
        columns={[
          {
            name: 'Name',
            show: ({ id, name }) => (
              <a href={`#/templates/${id}`}>
                <Stored text={name} />
              </a>
            ),
          },
          { name: 'Id', show: ({ id }) => <Ref id={id} /> },
          { name: 'Minted', show: ({ minted_count: count }) => <Count of={count} />, isNumber: true },
          { name: 'Most', show: ({ max_supply: most }) => (most === null ? 'no limit' : <Count of={most} />), isNumber: true },
          { name: 'Made', show: ({ created_at: at }) => <Time at={at} /> },
        ]}
      />
      <Part title="New template">
        <Signed>
          <NewTemplate />
        </Signed>
      </Part>
    </Page>
  );
}

function Mint({ template, variations }: { template: Schemas['TemplateView']; variations: readonly Schemas['VariationView'][] }) {
  const [, go] = useLocation();
  const doing = useDoing(async (form: FormData) => {
    const [to, variation] = [textOf(form, 'to'), textOf(form, 'variation_id')];
    const properties = objectOf(form, 'properties', 'Properties');
    const made = await reader().mintObject({
      template_id: template.id,
      ...(properties === null ? {} : { properties: properties as never }),
      ...(variation === null ? {} : { variation_id: variation }),
      ...(to === null ? {} : { to }),
    });
    go(`/objects/${made.id}`);
  });
  return (
    <Form label="Mint" submit="Sign and mint" doing={doing}>
      <Area label="Properties (optional)" name="properties" placeholder={'{ "seat": 1 }'} hint="They are laid over the template’s defaults." />
      {variations.length > 0 ? (
        <Choice label="Variation" name="variation_id" options={[['', 'none'], ...variations.map(({ id, name }) => [id, name] as const)]} />
      ) : null}
      <Field label="For (optional)" name="to" hint="A wallet’s id or address; yours if empty." />
    </Form>
  );
}

function NewVariation({ id, onDone }: { id: string; onDone: () => void }) {
  const doing = useDoing(async (form: FormData) => {
    const properties = objectOf(form, 'properties', 'Properties');
    const variations = [{ name: neededOf(form, 'name', 'Name'), properties: properties ?? {} }];
    await reader().createVariations(id, { variations } as never);
    onDone();
    return 'The variation was made.';
  });
  return (
    <Form label="New variation" submit="Sign and make" doing={doing} onEmptied={() => {}}>
      <Field label="Name" name="name" required />
      <Area label="Properties" name="properties" placeholder={'{ "colour": "red" }'} />
    </Form>
  );
}

/** One template. */
export function OneTemplate({ id }: { id: string }) {
  const [turn, setTurn] = useState(0);
  const template = useLoading(() => reader().getTemplate(id), [id]);
  const variations = usePaging(() => reader().listVariations(id, { limit: 100 }), [id, turn]);
  return (
    <Page title="Template">
      <Loaded of={template}>
        {(of) => (
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
              <Fact name="Readers">{of.public_access ? 'anybody' : 'the organization and owners'}</Fact>
              <Fact name="Made">
                <Time at={of.created_at} />
              </Fact>
              <Fact name="Integrity">
                <Hash value={of.integrity_hash} whole />
              </Fact>
            </Facts>
            <ItsProof of={of} link={<a href="#/actions">see the actions</a>} onStale={template.reload} />
            <Part title="Mint an object">
              <Signed>
                <Mint template={of} variations={variations.items} />
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
