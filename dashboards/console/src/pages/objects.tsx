/** Objects: the list with its search, and one object with its history. */

import type { Schemas } from '@kedge/sdk';
import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useChoices } from '../address';
import { type ExactAnswer, listingExactly, objectIn, readingExactly } from '../exact-answers';
import { textOf } from '../fields';
import { useDoing, useLoading, usePaging } from '../loading';
import { nameIn } from '../naming';
import { Cell, ColumnChoice, columnsIn, columnsText, objectColumns, usualColumns } from '../pieces/object-columns';
import { Choice, Field, Form } from '../pieces/forms';
import { List, MoreOf } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part, Signed } from '../pieces/page';
import { FileValue } from '../pieces/picture';
import { ItsProof } from '../pieces/proven';
import { Copy, Count, Fact, Facts, Hash, Json, Ref, State, Stored, Time } from '../pieces/text';
import { type Exact, type ExactObject, exactOf, indentedExact, isObject, memberOf } from '../schema/exact';
import { type Member, type Shape, propertiesShape } from '../schema/shape';
import { OPERATORS, filterOf } from '../searching';
import { reader } from '../session';
import { Act } from './act';

type ObjectView = Schemas['ObjectView'];
type TemplateView = Schemas['TemplateView'];

/** What the address keeps of the search. */
const SEARCHED = ['template_id', 'status', 'property', 'op', 'value'] as const;
/** Orders of the list: a field, and a direction. */
const ORDERS = [
  ['', 'newest first'],
  ['created_at.asc', 'oldest first'],
  ['updated_at.desc', 'last changed first'],
] as const;

const membersOf = (schema: unknown): readonly Member[] => {
  const exact = exactOf(schema);
  return isObject(exact) ? propertiesShape(exact).members : [];
};

/** Orders by the properties that the schema marks for an index. */
const indexedOrders = (members: readonly Member[]) =>
  members
    .filter(({ name, shape }) => memberOf(shape.schema, 'x-index') === true && !/[.\\]/.test(name))
    .flatMap(({ name, shape }) => [
      [`properties.${name}.asc`, `${shape.title ?? name}, lowest first`] as const,
      [`properties.${name}.desc`, `${shape.title ?? name}, highest first`] as const,
    ]);

/** The list that the choices in the address ask for. */
function searched(choices: URLSearchParams, options: object) {
  const form = new FormData();
  for (const name of SEARCHED) form.set(name, choices.get(name) ?? '');
  const filter = filterOf(form);
  const order = choices.get('order') ?? '';
  if (filter === null && order === '') return reader().listObjects({ limit: 50, order: 'desc' }, options);
  const [, field = 'created_at', direction = 'desc'] = /^(.+)\.(asc|desc)$/.exec(order) ?? [];
  const sort = [{ field, order: direction as 'asc' }];
  return reader().searchObjects({ filter: filter ?? { and: [] }, sort, limit: 50 }, {}, options);
}

function NoObjects({ template, hasTemplates }: { template: string; hasTemplates: boolean }) {
  return (
    <span class="start">
      <span>There are no objects yet. {hasTemplates ? 'Mint one from a template.' : 'An object is minted from a template: make one first.'}</span>
      {hasTemplates ? (
        <a class="button main" href={template === '' ? '#/templates' : `#/templates/${template}`}>
          {template === '' ? 'Choose a template' : 'Mint one'}
        </a>
      ) : (
        <a class="button main" href="#/templates?example=ticket">
          Begin with an example
        </a>
      )}
    </span>
  );
}

/** The objects of the organization. */
export function Objects() {
  const [, go] = useLocation();
  const [choices, change] = useChoices('/objects');
  const [turn, setTurn] = useState(0);
  const of = (name: string): string => choices.get(name) ?? '';
  const template = of('template_id');
  const templates = useLoading(() => reader().listTemplates({ limit: 100, order: 'desc' }), []);
  const items: readonly TemplateView[] = templates.value?.items ?? [];
  const names = useMemo(() => new Map(items.map(({ id, name }) => [id, name])), [templates.value]);
  // A template of another organization, or an old one, is not in the first page of the list.
  const chosen = useLoading(async () => (template === '' ? null : (items.find(({ id }) => id === template) ?? (await reader().getTemplate(template)))), [template]);
  const members = useMemo(() => (chosen.value === null || chosen.value.id !== template ? [] : membersOf(chosen.value.schema)), [chosen.value, template]);
  const columns = columnsIn(choices.get('columns'), members) ?? (choices.get('columns') === 'none' ? [] : usualColumns(members));
  const search = SEARCHED.map(of).join('\n');
  const objects = usePaging(() => listingExactly<ObjectView>((options) => searched(choices, options) as never), [search, of('order')]);
  const isSearched = SEARCHED.some((name) => name !== 'template_id' && name !== 'op' && of(name) !== '');
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const id = textOf(form, 'id');
    if (id !== null) go(`/objects/${encodeURIComponent(id)}`);
    else change(Object.fromEntries(['property', 'op', 'value'].map((name) => [name, textOf(form, name) ?? ''])));
  };
  const onReset = (): void => {
    change(Object.fromEntries([...SEARCHED, 'order', 'columns'].map((name) => [name, ''])));
    setTurn(turn + 1);
  };
  const known = items.map(({ id, name }) => [id, name] as const);
  const options = template === '' || names.has(template) ? known : [[template, chosen.value?.name ?? template] as const, ...known];
  const shown = columns.flatMap((name) => members.filter((member) => member.name === name));
  return (
    <Page title="Objects">
      <form key={turn} class="search" role="search" aria-label="Find objects" onSubmit={onSubmit} onReset={onReset}>
        <Choice
          label="Template"
          name="template_id"
          value={template}
          onChange={(event) => change({ template_id: event.currentTarget.value, columns: '', order: '' })}
          options={[['', 'all'], ...options]}
        />
        <Choice
          label="Status"
          name="status"
          value={of('status')}
          onChange={(event) => change({ status: event.currentTarget.value })}
          options={[
            ['', 'any'],
            ['active', 'active'],
            ['locked', 'locked'],
            ['burned', 'burned'],
          ]}
        />
        <Choice
          label="Order"
          name="order"
          value={of('order')}
          onChange={(event) => change({ order: event.currentTarget.value })}
          options={[...ORDERS, ...indexedOrders(members)]}
        />
        <Field label="Property" name="property" placeholder="seat.row" defaultValue={of('property')} />
        <Choice label="Comparison" name="op" options={OPERATORS} defaultValue={of('op') || 'eq'} />
        <Field label="Value" name="value" placeholder="12" defaultValue={of('value')} />
        <Field label="Object id" name="id" placeholder="obj_…" />
        <div class="row">
          <button class="main">Find</button>
          <button type="reset">Show all</button>
        </div>
      </form>
      {members.length === 0 ? null : <ColumnChoice members={members} chosen={columns} onChange={(next) => change({ columns: columnsText(next) })} />}
      <List
        label="Objects"
        of={objects}
        keyOf={({ value: { id } }) => id}
        none={isSearched ? 'No object matches.' : <NoObjects template={template} hasTemplates={items.length > 0} />}
        columns={objectColumns(shown, template === '' ? names : null)}
      />
    </Page>
  );
}

function History({ id, turn }: { id: string; turn: number }) {
  const history = usePaging(() => reader().listObjectHistory(id, { limit: 50 }), [id, turn]);
  return (
    <>
      <ol class="timeline" aria-label="History">
        {history.items.map((action) => (
          <li key={action.id}>
            <p>
              <strong class="kind">{action.action_type}</strong> <a href={`#/actions/${action.id}`}>version {action.object_version}</a> at sequence{' '}
              <Count of={action.sequence} />
            </p>
            <p class="faint">
              <Time at={action.timestamp} />, signed by <Hash value={action.signer} />
            </p>
            <details>
              <summary>Payload of version {action.object_version}</summary>
              <Json value={action.payload} label={`Payload of version ${action.object_version}`} />
            </details>
          </li>
        ))}
      </ol>
      <MoreOf of={history} none="There is no history." />
    </>
  );
}

function Past({ id, newest }: { id: string; newest: number }) {
  const [past, setPast] = useState<ObjectView | null>(null);
  const doing = useDoing(async (form: FormData) => {
    const at = Number(form.get('sequence'));
    setPast(await reader().getObject(id, { at_sequence: at }));
  });
  return (
    <details>
      <summary>As it once was</summary>
      <Form label="As it once was" submit="Show" doing={doing}>
        <Field label="Sequence of the log" name="sequence" type="number" min={1} defaultValue={String(newest)} required />
      </Form>
      {past === null ? null : (
        <>
          <p>
            Version {past.version}, <State of={past.status} />
          </p>
          <Json value={past.properties} label={`Properties of version ${past.version}`} />
        </>
      )}
    </details>
  );
}

function Name({ of }: { of: ExactObject }) {
  const name = nameIn(of);
  if (name === null) return null;
  return (
    <Fact name="Name">
      <strong>
        <Stored text={name} />
      </strong>
    </Fact>
  );
}

/** The way to the history further down the page. */
function ToHistory() {
  const show = (): void => {
    const history = document.querySelector('.timeline');
    history?.scrollIntoView({ block: 'center' });
  };
  return (
    <button type="button" class="link" onClick={show}>
      see the history
    </button>
  );
}

/** A property, with what it refers to: a file, if the schema says so by `x-file`. */
function Property({ of, shape }: { of: Exact | undefined; shape: Shape }) {
  const isFile = memberOf(shape.schema, 'x-file') === true && typeof of === 'string' && /^fil_[0-9a-z]{26}$/.test(of);
  return isFile ? <FileValue id={of} /> : <Cell of={of} shape={shape} most={Number.POSITIVE_INFINITY} />;
}

/** What an object holds, under the names that its template's schema gives. */
function Properties({ of, schema }: { of: ExactObject; schema: unknown }) {
  const members = membersOf(schema).filter(({ name }) => Object.hasOwn(of, name));
  const json = (
    <pre class="json" tabIndex={0} role="region" aria-label="Properties">
      {indentedExact(of)}
    </pre>
  );
  if (members.length === 0) return json;
  return (
    <>
      <Facts>
        {members.map(({ name, shape }) => (
          <Fact key={name} name={shape.title ?? name}>
            <Property of={of[name]} shape={shape} />
          </Fact>
        ))}
      </Facts>
      <details>
        <summary>As JSON</summary>
        {json}
      </details>
    </>
  );
}

/** One object with its history. */
export function OneObject({ id }: { id: string }) {
  const [turn, setTurn] = useState(0);
  const object = useLoading(() => readingExactly((options) => reader().getObject(id, {}, options)), [id, turn]);
  const templateId = object.value?.value.template_id;
  const template = useLoading<ExactAnswer<TemplateView> | null>(
    async () => (templateId === undefined ? null : readingExactly((options) => reader().getTemplate(templateId, {}, options))),
    [templateId],
  );
  return (
    <Page title="Object">
      <Loaded of={object}>
        {({ value: of, exact }) => (
          <>
            <Facts>
              <Name of={objectIn(exact, 'properties')} />
              <Fact name="Id">
                <Hash value={of.id} whole /> <Copy text={of.id} what="the id" />
              </Fact>
              <Fact name="Status">
                <State of={of.status} />
              </Fact>
              <Fact name="Template">
                <Ref id={of.template_id} /> {template.value === null ? null : <Stored text={template.value.value.name} />}
              </Fact>
              <Fact name="Owner">
                <Hash value={of.owner_address} whole />
              </Fact>
              <Fact name="Version">
                <Count of={of.version} />
              </Fact>
              <Fact name="Minted">
                <Time at={of.created_at} />
              </Fact>
              <Fact name="Changed">
                <Time at={of.updated_at} /> at sequence <Count of={of.sequence} />
              </Fact>
              <Fact name="Integrity">
                <Hash value={of.integrity_hash} whole />
              </Fact>
            </Facts>
            <ItsProof of={{ value: of, exact }} link={<ToHistory />} onStale={object.reload} />
            <Part title="Properties">
              <Properties of={objectIn(exact, 'properties')} schema={template.value?.value.schema ?? null} />
              <Past id={id} newest={of.sequence} />
            </Part>
            <Part title="Do something with it">
              <Signed>
                <Act object={{ value: of, exact }} template={template} onDone={() => setTurn(turn + 1)} />
              </Signed>
            </Part>
            <Part title="History">
              <History id={id} turn={turn} />
            </Part>
          </>
        )}
      </Loaded>
    </Page>
  );
}
