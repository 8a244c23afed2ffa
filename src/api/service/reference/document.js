// Shows /openapi.json. Nothing is loaded from anywhere else, and no text becomes markup.
// The script is served as one file: document.js, code.js, snippets.js, quickstart.js, trial.js and pages.js, in this order.

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const byId = (id) => document.getElementById(id);

/** An element with attributes and children; texts stay texts. */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'class') element.className = value;
    else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ''));
  return element;
}

/** Text whose parts between back quotes are code. A part that names an operation leads to it. */
const words = (text) => (text ?? '').split('`').map((part, i) => (i % 2 === 1 ? el('code', {}, linked(part)) : part));
const paragraphs = (text) =>
  (text ?? '').split(/\n\n+/).filter(Boolean).map((part) => (part.startsWith('## ') ? el('h2', {}, part.slice(3)) : el('p', {}, words(part))));

/** The page of an operation, a tag or a component. */
const pathTo = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

let api = {};
let all = [];
/** Operations by `GET /path`. */
const byRoute = new Map();

const linked = (text) => {
  const operation = byRoute.get(text);
  return operation ? el('a', { href: pathTo(operation.id) }, text) : text;
};

/** What a `$ref` leads to, with the members that the reference has as well. */
function resolved(node) {
  let current = node ?? {};
  for (let hops = 0; current.$ref !== undefined && hops < 8; hops += 1) {
    const { $ref: reference, ...own } = current;
    const path = reference.slice(2).split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    current = { ...path.reduce((at, part) => at?.[part], api), ...own };
  }
  return current;
}

/** A schema with its `allOf` folded in. */
function folded(schema) {
  const { allOf = [], ...own } = resolved(schema === true ? {} : schema);
  return allOf.map(folded).reduce(
    (whole, part) => ({
      ...part,
      ...whole,
      properties: part.properties || whole.properties ? mergedMembers(part.properties, whole.properties) : undefined,
      required: [...(whole.required ?? []), ...(part.required ?? [])],
    }),
    own,
  );
}

function mergedMembers(base = {}, over = {}) {
  const merged = { ...base };
  for (const [name, schema] of Object.entries(over)) merged[name] = { ...resolved(base[name]), ...schema };
  return merged;
}

/** The component that a schema is, also where it only stands alone in an `allOf`. */
function refName(schema) {
  const one = schema?.allOf?.length === 1 ? schema.allOf[0] : schema;
  return one?.$ref?.split('/').pop();
}

/** The component that a schema is, or is a list of, or is if it is not null. */
function heldName(raw) {
  const schema = folded(raw);
  const alternatives = choices(schema);
  return refName(raw) ?? (schema.items ? heldName(schema.items) : alternatives.length === 1 ? heldName(alternatives[0]) : undefined);
}

const isNull = (schema) => resolved(schema).type === 'null';

/** The alternatives of a schema, without null. */
const choices = (schema) => (schema.oneOf ?? schema.anyOf ?? []).filter((one) => !isNull(one));
const nullable = (schema) =>
  [schema.type].flat().includes('null') || (schema.oneOf ?? schema.anyOf ?? []).some(isNull);

/** So many values are listed in a line. */
const VALUES_MAX = 8;

/** The values of a long enumeration, folded up. */
function valuesOf(raw) {
  const schema = folded(raw);
  const alternatives = choices(schema);
  if (schema.items) return valuesOf(schema.items);
  if (alternatives.length === 1) return valuesOf(alternatives[0]);
  if (!(schema.enum?.length > VALUES_MAX)) return null;
  return el('details', { class: 'more' }, el('summary', {}, `The ${schema.enum.length} values`), el('p', { class: 'what values' }, schema.enum.map((value) => [el('code', {}, String(value)), ' '])));
}

function typeOf(raw) {
  const schema = folded(raw);
  const parts = [];
  const alternatives = choices(schema);
  const types = [schema.type].flat().filter((type) => type && type !== 'null');
  if (schema.enum) parts.push(schema.enum.length > VALUES_MAX ? `one of ${schema.enum.length} values` : schema.enum.map((value) => JSON.stringify(value)).join(' | '));
  else if (types.includes('array')) parts.push(`array of ${schema.items ? typeOf(schema.items) : 'any'}`);
  else if (alternatives.length === 1) parts.push(typeOf(alternatives[0]));
  else if (alternatives.length > 1 && !types.length) parts.push('one of these');
  else parts.push(types.join(' | ') || 'any');
  if (schema.format && !/^u?int/.test(schema.format)) parts.push(schema.format);
  if (nullable(schema)) parts.push('or null');
  return parts.join(' ');
}

/** What a pattern asks for; nothing, if that is long. */
function patternWords(pattern) {
  const [, id, orNumber] = /^\^\(?([a-z]{3}_)\[[^\]]*\]\[[^\]]*\]\{25\}(\|\[0-9\]\{1,19\}\))?\$$/.exec(pattern) ?? [];
  if (id) return orNumber ? `${id}… or a number` : `${id}…`;
  const [, digits] = /^\^0x\[[^\]]*\]\{(\d+)\}\$$/.exec(pattern) ?? [];
  if (digits) return `0x and ${digits} hex digits`;
  return pattern.length <= 30 ? pattern : '';
}

function limits(raw) {
  const schema = folded(raw);
  const parts = [];
  const range = (least, most, what) => {
    if (least === undefined && most === undefined) return;
    if (least === undefined) parts.push(`at most ${most}${what}`);
    else if (most === undefined) parts.push(`at least ${least}${what}`);
    else parts.push(`${least} to ${most}${what}`);
  };
  if (schema.minimum !== 0 || schema.maximum !== undefined) range(schema.minimum, schema.maximum, '');
  range(schema.minLength, schema.maxLength, ' characters');
  range(schema.minItems, schema.maxItems, ' items');
  if (schema.default !== undefined && schema.default !== null && JSON.stringify(schema.default).length < 40) {
    parts.push(`default ${JSON.stringify(schema.default)}`);
  }
  if (schema.pattern) parts.push(patternWords(schema.pattern));
  return parts.filter(Boolean).join(' · ');
}

/** Members in the order in which they are required, which is that of their declaration. */
function ordered(schema) {
  const required = schema.required ?? [];
  const names = Object.keys(schema.properties ?? {});
  const place = (name) => (required.includes(name) ? required.indexOf(name) : required.length);
  return names.sort((a, b) => place(a) - place(b));
}

/** What a schema holds, all references followed; null for plain values. Deeper levels are folded up. */
function inside(raw, seen = []) {
  const name = refName(raw);
  if (name && seen.includes(name)) return el('p', { class: 'what' }, 'As above: ', schemaLink(name), '.');
  const path = name ? [...seen, name] : seen;
  const schema = folded(raw);
  const parts = [];
  if (schema.properties) parts.push(el('ul', { class: 'members' }, ordered(schema).map((member) => memberOf(schema, member, path))));
  if (schema.items) parts.push(inside(schema.items, path));
  const alternatives = choices(schema);
  if (alternatives.length === 1) parts.push(inside(alternatives[0], path));
  if (alternatives.length > 1) {
    const each = alternatives.map((one) => {
      const held = inside(one, path);
      const alternative = folded(one);
      const title = alternative.title ?? refName(one) ?? typeOf(one);
      if (held) return el('details', { class: 'more' }, el('summary', {}, title), held);
      return el('p', { class: 'title' }, title, limits(one) ? ` · ${limits(one)}` : '');
    });
    parts.push(el('div', { class: 'choice' }, el('p', { class: 'title' }, 'One of these:'), each));
  }
  const shown = parts.filter(Boolean);
  return shown.length > 0 ? el('div', {}, shown) : null;
}

const schemaLink = (name) => el('a', { class: 'type', href: pathTo('schema', name) }, name);

function memberOf(schema, name, path) {
  const raw = schema.properties[name];
  const member = folded(raw);
  const held = inside(raw, [...path]);
  const component = heldName(raw);
  return el(
    'li',
    {},
    el(
      'div',
      { class: 'member' },
      el('code', {}, name),
      el('span', { class: 'type' }, [typeOf(raw), limits(raw)].filter(Boolean).join(' · ')),
      component ? schemaLink(component) : null,
      (schema.required ?? []).includes(name) ? null : el('span', { class: 'type optional' }, 'optional'),
      member.deprecated ? el('span', { class: 'deprecated' }, 'deprecated') : null,
    ),
    member.description ? el('p', { class: 'what' }, words(member.description)) : null,
    valuesOf(raw),
    held ? el('details', { class: 'more' }, el('summary', {}, el('span', { class: 'closed' }, 'Show'), el('span', { class: 'opened' }, 'Hide'), ' the members of ', el('code', {}, name)), held) : null,
  );
}

/** A value with its members in the order of the schema. */
function arranged(value, raw) {
  if (Array.isArray(value)) {
    const { items } = folded(raw);
    return value.map((item) => arranged(item, items));
  }
  if (value === null || typeof value !== 'object') return value;
  let schema = folded(raw);
  const fits = (one) => Object.keys(value).every((name) => folded(one).properties?.[name] !== undefined);
  if (!schema.properties) schema = folded(choices(schema).find(fits));
  const known = ordered(schema).filter((name) => name in value);
  const rest = Object.keys(value).filter((name) => !known.includes(name));
  return Object.fromEntries([...known, ...rest].map((name) => [name, arranged(value[name], schema.properties?.[name])]));
}

/** Examples in their story's order. */
const inOrder = (examples) => Object.values(examples ?? {}).sort((a, b) => (a['x-order'] ?? 0) - (b['x-order'] ?? 0));

/** The answers of an operation that are no errors, and those that are. */
const successes = ({ responses }) => Object.entries(responses).filter(([, response]) => !response.$ref);
const refusals = ({ responses }) => Object.entries(responses).filter(([, response]) => response.$ref);

/** Codes of a documented refusal, each with its meaning. */
const codesOf = (response) =>
  resolved(response).description.split('\n\n').map((line) => {
    const [, code, meaning] = /^`(\w+)`: (.*)$/s.exec(line) ?? [null, '', line];
    return { code, meaning };
  });

/** Which credentials an operation takes. */
function credentials({ security = [] }) {
  if (security.every((one) => Object.keys(one).length === 0)) return 'public';
  if (security.some((one) => Object.keys(one).length === 0)) return 'public; more with a token or a key';
  return security.some((one) => one.api_key && !one.bearer) ? 'token or API key' : 'token';
}

/** The document's operations, with their parameters resolved and the words that a filter looks at. */
function operations() {
  const found = [];
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      const parameters = (operation.parameters ?? []).map(resolved);
      const texts = [operation, ...Object.values(operation.responses).map(resolved)].map(({ description }) => description);
      const searched = [method, path, operation.operationId, operation.summary, ...operation.tags, ...parameters.map(({ name }) => name), ...texts];
      const multipart = 'multipart/form-data' in (operation.requestBody?.content ?? {});
      const [[sentType, sent] = []] = Object.entries(operation.requestBody?.content ?? {});
      const bodies = inOrder(sent?.examples).map((example) => ({ title: example.summary, value: arranged(example.value, sent.schema) }));
      found.push({ ...operation, id: operation.operationId, method, path, parameters, multipart, sentType, sent, bodies, searched: searched.join('\n').toLowerCase() });
    }
  }
  return found.sort((a, b) => a['x-order'] - b['x-order']);
}
