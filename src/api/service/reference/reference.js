// Shows /openapi.json. Nothing is loaded from anywhere else, and no text becomes markup.

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const byId = (id) => document.getElementById(id);

/** An element with attributes and children; texts stay texts. */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'class') element.className = value;
    else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

/** Text whose parts between back quotes are code. */
const words = (text) => (text ?? '').split('`').map((part, i) => (i % 2 === 1 ? el('code', {}, part) : part));
const paragraphs = (text) => (text ?? '').split(/\n\n+/).filter(Boolean).map((part) => el('p', {}, words(part)));

let api = {};

/** What a `$ref` leads to, with what stands beside it. */
function resolved(node) {
  let current = node ?? {};
  for (let hops = 0; current.$ref !== undefined && hops < 8; hops += 1) {
    const { $ref: reference, ...beside } = current;
    const path = reference.slice(2).split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    current = { ...path.reduce((at, part) => at?.[part], api), ...beside };
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

/** The component that a schema is, also where it only stands in an `allOf` of its own. */
function refName(schema) {
  const one = schema?.allOf?.length === 1 ? schema.allOf[0] : schema;
  return one?.$ref?.split('/').pop();
}

const isNull = (schema) => resolved(schema).type === 'null';

/** The alternatives of a schema, without null. */
const choices = (schema) => (schema.oneOf ?? schema.anyOf ?? []).filter((one) => !isNull(one));
const nullable = (schema) =>
  [schema.type].flat().includes('null') || (schema.oneOf ?? schema.anyOf ?? []).some(isNull);

function typeOf(raw) {
  const schema = folded(raw);
  const parts = [];
  const alternatives = choices(schema);
  const types = [schema.type].flat().filter((type) => type && type !== 'null');
  if (schema.enum) parts.push(schema.enum.map((value) => JSON.stringify(value)).join(' | '));
  else if (types.includes('array')) parts.push(`array of ${schema.items ? typeOf(schema.items) : 'any'}`);
  else if (alternatives.length === 1) parts.push(typeOf(alternatives[0]));
  else if (alternatives.length > 1 && !types.length) parts.push('one of these');
  else parts.push(types.join(' | ') || 'any');
  if (schema.format && !/^u?int/.test(schema.format)) parts.push(schema.format);
  if (nullable(schema)) parts.push('or null');
  return parts.join(' ');
}

function limits(raw) {
  const schema = folded(raw);
  const told = [];
  const range = (least, most, what) => {
    if (least === undefined && most === undefined) return;
    if (least === undefined) told.push(`at most ${most}${what}`);
    else if (most === undefined) told.push(`at least ${least}${what}`);
    else told.push(`${least} to ${most}${what}`);
  };
  if (schema.minimum !== 0 || schema.maximum !== undefined) range(schema.minimum, schema.maximum, '');
  range(schema.minLength, schema.maxLength, ' characters');
  range(schema.minItems, schema.maxItems, ' items');
  if (schema.default !== undefined && schema.default !== null && JSON.stringify(schema.default).length < 40) {
    told.push(`default ${JSON.stringify(schema.default)}`);
  }
  if (schema.pattern && schema.pattern.length <= 60) told.push(schema.pattern);
  return told.join(' · ');
}

/** Members in the order in which they are required, which is that of their declaration. */
function ordered(schema) {
  const required = schema.required ?? [];
  const names = Object.keys(schema.properties ?? {});
  const place = (name) => (required.includes(name) ? required.indexOf(name) : required.length);
  return names.sort((a, b) => place(a) - place(b));
}

/** What a schema holds, all references followed; null for plain values. */
function inside(raw, seen = []) {
  const name = refName(raw);
  if (name && seen.includes(name)) return el('p', { class: 'what' }, 'As above.');
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
      return el('div', {}, el('p', { class: 'title' }, title, limits(one) && !held ? ` · ${limits(one)}` : ''), held);
    });
    parts.push(el('div', { class: 'choice' }, each));
  }
  const shown = parts.filter(Boolean);
  return shown.length > 0 ? el('div', {}, shown) : null;
}

function memberOf(schema, name, path) {
  const raw = schema.properties[name];
  const member = folded(raw);
  const held = inside(raw, path);
  return el(
    'li',
    {},
    el(
      'div',
      { class: 'member' },
      el('code', {}, name),
      el('span', { class: 'type' }, [typeOf(raw), limits(raw)].filter(Boolean).join(' · ')),
      (schema.required ?? []).includes(name) ? null : el('span', { class: 'type' }, 'optional'),
    ),
    member.description ? el('p', { class: 'what' }, words(member.description)) : null,
    held,
  );
}

/** JSON with its parts marked; members go as the schema declares them. */
function highlighted(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const pattern = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b/g;
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(end, match.index));
    const [all, string, colon, word] = match;
    const kind = string ? (colon ? 'key' : 'string') : word ? 'word' : 'number';
    parts.push(el('span', { class: `json-${kind}` }, string ?? all), colon ?? '');
    end = match.index + all.length;
  }
  return [...parts, text.slice(end)];
}

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

/** A box with code in it; `variants` are [{title, text}], chosen by a list if there are many. */
function sample(heading, variants) {
  const pre = el('pre', { tabindex: '0' });
  let current = variants[0];
  const show = (variant) => {
    current = variant;
    pre.replaceChildren(...(variant.plain ? [variant.text] : highlighted(variant.text)));
  };
  const copy = el('button', { type: 'button', onclick: () => copied(copy, current.text) }, 'Copy');
  const choose = (event) => show(variants[event.target.selectedIndex]);
  const options = variants.map((variant) => el('option', {}, variant.title));
  const chooser = variants.length > 1 ? el('select', { 'aria-label': `Example: ${heading}`, onchange: choose }, options) : null;
  show(current);
  return el('section', { class: 'sample' }, el('header', {}, el('strong', {}, heading), chooser, copy), pre);
}

async function copied(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Select it by hand';
  }
  setTimeout(() => (button.textContent = 'Copy'), 1500);
}

const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

/** What the target of a signature is, for a shell: a value of this request, or words for it. */
function targetOf(words, path, body) {
  if (words === '') return '';
  if (words === 'id of the path') return path.id ?? '<id>';
  if (words === 'template_id of the body') return body?.template_id ?? '<template_id>';
  if (words === 'name of the file') return body?.name ?? '<name>';
  return `"$${words.endsWith('wallet') ? 'WALLET_ID' : 'ORGANIZATION_ID'}"`;
}

/** How the headers of a signature are made: by the command line where it can, else in words. */
function signingCommand(operation, path, body) {
  const { kind, target, payload } = operation['x-signature'];
  const command = (what, about, more) => `kedge sign --url ${location.origin} --kind ${what} --nonce 8${more ? ` ${more}` : ''} \\\n  ${about ? `--target ${about} ` : ''}>headers`;
  const about = targetOf(target, path, body);
  const hasSecret = body?.password !== undefined;
  if (payload === 'digest of the file') return command(kind, about, `--digest --payload ${about}`);
  if (payload === 'digest of the body' || (payload.startsWith('the body, or') && hasSecret)) return command(kind, about, '--digest --payload body.json');
  if (payload.startsWith('the body')) return command(kind, about, '--payload body.json');
  if (payload === '') return command(kind, about, '');
  if (payload.startsWith('{')) return `printf '${payload.replace('<id of the path>', path.id ?? '<id>')}' >payload.json\n${command(kind, about, '--payload payload.json')}`;
  if (body?.action_type) {
    const acted = body.object_id ?? body.template_id;
    if (body.payload === undefined) return command(body.action_type, acted, '');
    return `# payload.json: the value of payload, byte for byte as in body.json\n${command(body.action_type, acted, '--payload payload.json')}`;
  }
  return '# headers: the five headers of the signature over all actions, one a line';
}

function curl(operation, body) {
  const parameters = operation.parameters.filter((parameter) => parameter.required || parameter.in === 'query');
  let path = operation.path;
  const query = [];
  const lines = [];
  for (const { name, in: place, example, required } of parameters) {
    const value = example ?? `<${name}>`;
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (place === 'query' && (required || example !== undefined)) query.push(`${name}=${encodeURIComponent(value)}`);
    else if (place === 'header' && !/^x-signature/i.test(name)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  }
  const signed = operation['x-signature'] !== undefined;
  if (signed) lines.unshift('-H @headers');
  if (operation.security?.length > 0 && operation.security.every((one) => Object.keys(one).length > 0)) lines.unshift('-H "Authorization: Bearer $TOKEN"');
  if (operation.multipart) {
    lines.push(`-F file=@${quoted(body?.name ?? '<file>')}`, `-F name=${quoted(body?.name ?? '<name>')}`);
  } else if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'", signed ? '--data-binary @body.json' : `--data ${quoted(JSON.stringify(body))}`);
  }
  const url = `${location.origin}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const method = operation.method === 'get' ? '' : `-X ${operation.method.toUpperCase()} `;
  const example = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.example]));
  const call = [`curl ${method}${quoted(url)}`, ...lines].join(' \\\n  ');
  return signed ? `${signingCommand(operation, example, body)}\n${call}` : call;
}

function parameterList(operation) {
  const shown = operation.parameters.filter(({ name }) => !/^x-(signature|request-id)/i.test(name));
  if (shown.length === 0) return null;
  const item = (parameter) =>
    el(
      'li',
      {},
      el(
        'div',
        { class: 'member' },
        el('code', {}, parameter.name),
        el('span', { class: 'type' }, [`in ${parameter.in}`, typeOf(parameter.schema), limits(parameter.schema)].filter(Boolean).join(' · ')),
        parameter.required ? el('span', { class: 'required' }, 'required') : null,
        parameter.deprecated ? el('span', { class: 'deprecated' }, 'deprecated') : null,
      ),
      el('p', { class: 'what' }, words(parameter.description)),
    );
  return [el('h4', {}, 'Parameters'), el('ul', { class: 'members' }, shown.map(item))];
}

function signing(rule) {
  if (!rule) return null;
  const row = (name, value) => [`${name} `, value === '' ? 'empty' : el('code', {}, value)];
  return el('p', {}, 'Signed: ', row('kind', rule.kind), ', ', row('target', rule.target), ', ', row('payload', rule.payload), '; with the five ', el('code', {}, 'X-Signature'), ' headers.');
}

function errorTable(errors) {
  const row = ([status, response]) => {
    const lines = resolved(response).description.split('\n\n').map((line) => {
      const [, code, meaning] = /^`(\w+)`: (.*)$/s.exec(line) ?? [null, '', line];
      return [el('dt', {}, code), el('dd', {}, meaning)];
    });
    return el('tr', {}, el('td', {}, status), el('td', {}, el('dl', {}, lines)));
  };
  return el('table', { class: 'errors' }, el('tbody', {}, errors.map(row)));
}

/** Examples in their story's order. */
const told = (examples) => Object.values(examples ?? {}).sort((a, b) => (a['x-order'] ?? 0) - (b['x-order'] ?? 0));

/** Which credentials an operation takes. */
function credentials({ security = [] }) {
  if (security.every((one) => Object.keys(one).length === 0)) return 'public';
  if (security.some((one) => Object.keys(one).length === 0)) return 'public; more with a token or a key';
  return security.some((one) => one.api_key && !one.bearer) ? 'token or API key' : 'token';
}

function operationSection(operation) {
  const { id, method, path, summary, description, requestBody, responses } = operation;
  const answers = Object.entries(responses);
  const wentWell = answers.filter(([, response]) => !response.$ref);
  const errors = answers.filter(([, response]) => response.$ref);
  const [[sentType, sent] = []] = Object.entries(requestBody?.content ?? {});
  const left = [paragraphs(description), signing(operation['x-signature']), parameterList(operation)];
  if (sent) left.push(el('h4', {}, 'Body'), operation.multipart ? el('p', {}, el('code', {}, sentType)) : null, inside(sent.schema) ?? el('p', {}, typeOf(sent.schema)));
  const samples = [];
  const bodies = told(sent?.examples).map((example) => ({ title: example.summary, value: arranged(example.value, sent.schema) }));
  const calls = bodies.length > 0 ? bodies.map(({ title, value }) => ({ title, text: curl(operation, value), plain: true })) : [{ text: curl(operation), plain: true }];
  samples.push(sample('Request', calls));
  if (bodies.length > 0) samples.push(sample(operation.multipart ? 'Parts' : operation['x-signature'] ? 'body.json' : 'Body', bodies.map(({ title, value }) => ({ title, text: JSON.stringify(value, null, 2) }))));
  for (const [status, response] of wentWell) {
    const [type, content] = Object.entries(response.content ?? {})[0] ?? [];
    left.push(el('h4', {}, `Answer ${status}`), response.description === 'Done.' ? null : el('p', {}, response.description), type && type !== 'application/json' ? el('p', {}, el('code', {}, type)) : null);
    const held = content && inside(content.schema);
    if (held) left.push(held);
    const examples = told(content?.examples);
    if (examples.length > 0) {
      const variants = examples.map((example) => ({ title: example.summary, text: JSON.stringify(arranged(example.value, content.schema), null, 2) }));
      samples.push(sample(`Answer ${status}`, variants));
    }
  }
  left.push(el('h4', {}, 'Errors'), errorTable(errors));
  return el(
    'article',
    { class: 'operation', id },
    el('h3', {}, el('a', { href: `#${id}` }, summary)),
    el(
      'p',
      { class: 'route' },
      el('span', { class: `method ${method}` }, method.toUpperCase()),
      el('code', {}, path),
      el('span', { class: 'badge' }, credentials(operation)),
      operation['x-api-key-right'] ? el('span', { class: 'badge' }, operation['x-api-key-right']) : null,
      operation['x-signature'] ? el('span', { class: 'badge' }, 'signed') : null,
    ),
    el('div', { class: 'columns' }, el('div', {}, left), el('div', { class: 'samples' }, samples)),
  );
}

/** The document's operations, with their parameters resolved and what is searched in. */
function operations() {
  const found = [];
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      const parameters = (operation.parameters ?? []).map(resolved);
      const told = [operation, ...Object.values(operation.responses).map(resolved)].map(({ description }) => description);
      const searched = [method, path, operation.operationId, operation.summary, ...parameters.map(({ name }) => name), ...told];
      const multipart = 'multipart/form-data' in (operation.requestBody?.content ?? {});
      found.push({ ...operation, id: operation.operationId, method, path, parameters, multipart, searched: searched.join('\n').toLowerCase() });
    }
  }
  return found.sort((a, b) => a['x-order'] - b['x-order']);
}

function intro() {
  const { info, components } = api;
  return el(
    'section',
    { class: 'intro', id: 'top' },
    el('h1', {}, info.title),
    el('p', { class: 'lead' }, info.summary),
    el('ul', { class: 'facts' }, el('li', {}, `Version ${info.version}`), el('li', {}, el('code', {}, location.origin)), el('li', {}, el('a', { href: '/openapi.json' }, 'openapi.json')), el('li', {}, info.license.name)),
    paragraphs(info.description),
    el('h4', {}, 'The form of an error'),
    inside({ $ref: '#/components/schemas/ApiError' }),
    el('h4', {}, 'The headers of a signature'),
    el('ul', { class: 'members' }, Object.values(components.parameters).filter(({ name }) => /^x-signature/i.test(name)).map((parameter) => el('li', {}, el('div', { class: 'member' }, el('code', {}, parameter.name), el('span', { class: 'type' }, limits(parameter.schema))), el('p', { class: 'what' }, words(parameter.description))))),
  );
}

function draw() {
  const all = operations();
  const nav = byId('nav');
  const main = byId('content');
  const tags = api.tags.map((tag) => ({ ...tag, operations: all.filter((operation) => operation.tags.includes(tag.name)) }));
  const groups = [];
  for (const tag of tags.filter(({ operations: its }) => its.length > 0)) {
    const links = tag.operations.map((operation) => el('li', {}, el('a', { href: `#${operation.id}` }, el('span', { class: `method ${operation.method}` }, operation.method === 'delete' ? 'DEL' : operation.method.toUpperCase()), operation.summary)));
    const sections = tag.operations.map(operationSection);
    const navGroup = el('div', {}, el('h2', {}, tag.name), el('ul', {}, links));
    const section = el('section', { class: 'tag' }, el('h2', { id: `tag-${tag.name.replaceAll(' ', '-')}` }, tag.name), el('p', {}, tag.description), sections);
    groups.push({ tag, links, sections, navGroup, section });
  }
  const status = el('p', { id: 'status', role: 'status', hidden: true });
  nav.replaceChildren(...groups.map(({ navGroup }) => navGroup));
  main.replaceChildren(intro(), status, ...groups.map(({ section }) => section));
  document.title = api.info.title;
  byId('title').textContent = api.info.title;
  searching(groups, status);
  following(groups);
}

function searching(groups, status) {
  const input = byId('search');
  const search = () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { tag, links, sections, navGroup, section } of groups) {
      let inGroup = 0;
      tag.operations.forEach((operation, i) => {
        const fits = wanted.every((word) => operation.searched.includes(word));
        links[i].hidden = !fits;
        sections[i].hidden = !fits;
        inGroup += Number(fits);
      });
      navGroup.hidden = inGroup === 0;
      section.hidden = inGroup === 0;
      shown += inGroup;
    }
    byId('top').hidden = wanted.length > 0;
    status.hidden = wanted.length === 0;
    status.textContent = shown === 0 ? 'No operation fits.' : `${shown} ${shown === 1 ? 'operation fits' : 'operations fit'}.`;
    if (wanted.length > 0) scrollTo(0, 0);
  };
  input.addEventListener('input', search);
  addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== input && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      input.focus();
    }
    if (event.key === 'Escape') {
      closeMenu();
      if (document.activeElement === input) {
        input.value = '';
        search();
        input.blur();
      }
    }
  });
}

/** Marks the operation that is being read. */
function following(groups) {
  const links = new Map(groups.flatMap(({ links: items }) => items.map((item) => [item.firstChild.hash.slice(1), item.firstChild])));
  const mark = (id) => {
    for (const [name, link] of links) {
      if (name === id) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    if (matchMedia('(min-width: 52rem)').matches) links.get(id)?.scrollIntoView({ block: 'nearest' });
  };
  const observer = new IntersectionObserver(
    (entries) => {
      const entry = entries.find(({ isIntersecting }) => isIntersecting);
      if (entry) mark(entry.target.id);
    },
    { rootMargin: '-15% 0px -75% 0px' },
  );
  for (const { sections } of groups) sections.forEach((section) => observer.observe(section));
  for (const link of links.values()) link.addEventListener('click', closeMenu);
  if (location.hash) byId(location.hash.slice(1))?.scrollIntoView();
}

function closeMenu() {
  document.documentElement.classList.remove('menu-open');
  byId('menu').setAttribute('aria-expanded', 'false');
}

byId('menu').addEventListener('click', () => {
  const open = document.documentElement.classList.toggle('menu-open');
  byId('menu').setAttribute('aria-expanded', String(open));
});

byId('theme').addEventListener('click', () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === 'dark';
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  try {
    localStorage.setItem('theme', document.documentElement.dataset.theme);
  } catch {
    // Without a place to keep it the choice lasts as long as the page.
  }
});

try {
  const kept = localStorage.getItem('theme');
  if (kept) document.documentElement.dataset.theme = kept;
} catch {
  // The system's choice it is.
}

try {
  const answer = await fetch('/openapi.json');
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  api = await answer.json();
  draw();
} catch (error) {
  const status = byId('status');
  status?.classList.add('failed');
  if (status) status.textContent = `The document could not be shown: ${error.message}`;
  throw error;
}
