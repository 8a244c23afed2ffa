// The pages of the reference, and which one an address (`#/…`) shows. An address chooses a page and does nothing else.

const routeLine = ({ method, path }) => [el('span', { class: `method ${method}` }, method.toUpperCase()), el('code', {}, path.split(/(?=\/)/).flatMap((part) => [part, el('wbr')]))];
const badge = (text, kind = '') => el('span', { class: `badge ${kind}` }, text);
const heading = (text) => el('h1', { tabindex: '-1' }, text);
const guideLink = (path, text) => el('a', { href: path }, text);

function parameterList(operation) {
  const shown = operation.parameters.filter(({ name }) => !/^x-(signature|request-id)/i.test(name));
  if (shown.length === 0) return null;
  const places = { path: 'Path', query: 'Query', header: 'Headers' };
  const item = (parameter) =>
    el(
      'li',
      {},
      el(
        'div',
        { class: 'member' },
        el('code', {}, parameter.name),
        el('span', { class: 'type' }, [typeOf(parameter.schema), limits(parameter.schema)].filter(Boolean).join(' · ')),
        parameter.required ? el('span', { class: 'required' }, 'required') : null,
        parameter.deprecated ? el('span', { class: 'deprecated' }, 'deprecated') : null,
      ),
      el('p', { class: 'what' }, words(parameter.description)),
      valuesOf(parameter.schema),
    );
  return Object.entries(places).map(([place, title]) => {
    const here = shown.filter((parameter) => parameter.in === place);
    return here.length === 0 ? null : [el('h2', {}, `${title} parameters`.replace('Headers parameters', 'Headers')), el('ul', { class: 'members' }, here.map(item))];
  });
}

function signingNote(rule) {
  if (!rule) return null;
  const row = (name, value) => [el('dt', {}, name), el('dd', {}, value === '' ? 'empty' : el('code', {}, value))];
  return el('div', { class: 'note' }, el('p', {}, el('strong', {}, 'Signed request. '), 'The SDKs sign it. ', guideLink('#/signing', 'How to sign without them'), '.'), el('dl', { class: 'facts' }, row('Kind', rule.kind), row('Target', rule.target), row('Payload', rule.payload)));
}

function errorTable(errors) {
  const row = ([status, response]) => el('tr', {}, el('td', {}, status), el('td', {}, el('dl', {}, codesOf(response).map(({ code, meaning }) => [el('dt', {}, code), el('dd', {}, words(meaning))]))));
  return el('table', { class: 'errors' }, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Status'), el('th', { scope: 'col' }, 'Code, and what it means'))), el('tbody', {}, errors.map(row)));
}

function operationPage(operation) {
  const { id, summary, description, sent: body, bodies } = operation;
  const errors = refusals(operation);
  const left = [paragraphs(description), signingNote(operation['x-signature']), parameterList(operation)];
  if (body) left.push(el('h2', {}, 'Body'), operation.multipart ? el('p', {}, el('code', {}, operation.sentType)) : null, heldName(body.schema) ? el('p', { class: 'what' }, schemaLink(heldName(body.schema))) : null, inside(body.schema) ?? el('p', {}, typeOf(body.schema)));
  const samples = [codeBox('Request', callsOf(operation))];
  if (bodies.length > 0) samples.push(codeBox(operation.multipart ? 'Parts' : operation['x-signature'] ? 'body.json' : 'Body', bodies.map(({ title, value }) => ({ title, text: JSON.stringify(value, null, 2) }))));
  for (const [status, response] of successes(operation)) {
    const [type, content] = Object.entries(response.content ?? {})[0] ?? [];
    const component = content && heldName(content.schema);
    left.push(el('h2', {}, `Answer ${status}`), response.description === 'Done.' ? null : el('p', {}, response.description), type && type !== 'application/json' ? el('p', {}, el('code', {}, type)) : null, component ? el('p', { class: 'what' }, schemaLink(component)) : null);
    const held = content && inside(content.schema);
    if (held) left.push(held);
    const examples = inOrder(content?.examples);
    if (examples.length > 0) {
      const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
      samples.push(codeBox(`Answer ${status}`, examples.map((example) => ({ title: example.summary, text: text(arranged(example.value, content.schema)) }))));
    }
  }
  if (errors.length > 0) left.push(el('h2', {}, 'Errors'), errorTable(errors));
  return [
    el('p', { class: 'crumb' }, operation.tags.map((tag) => el('a', { href: pathTo('tag', tag) }, tag))),
    heading(summary),
    el('p', { class: 'route' }, routeLine(operation), badge(credentials(operation)), operation['x-api-key-right'] ? badge(`right ${operation['x-api-key-right']}`) : null, operation['x-signature'] ? badge('signed', 'strong') : null),
    el('div', { class: 'columns', id }, el('div', {}, left), el('div', { class: 'samples' }, samples[0], trial(operation), samples.slice(1))),
  ];
}

const operationList = (some) => el('ul', { class: 'cards' }, some.map((operation) => el('li', {}, el('a', { href: pathTo(operation.id) }, operation.summary), el('p', { class: 'route' }, routeLine(operation)))));

const tagPage = (tag) => [heading(tag.name), el('p', { class: 'lead' }, words(tag.description)), operationList(tag.operations)];

function startPage() {
  const { info, components } = api;
  return [
    el('section', { class: 'hero' }, heading('Kedge API'), el('p', { class: 'lead' }, info.summary), el('p', { class: 'row' }, badge(`Version ${info.version}`), badge(origin), badge(info.license.name))),
    quickstart(),
    el('h2', {}, 'Everything that there is'),
    el('ul', { class: 'cards tags' }, groups.map(({ name, description, operations: its }) => el('li', {}, el('a', { href: pathTo('tag', name) }, name), el('p', { class: 'what' }, words(description)), el('p', { class: 'type' }, `${its.length} ${its.length === 1 ? 'operation' : 'operations'}`)))),
    el('p', { class: 'what' }, guideLink('#/schemas', `${Object.keys(components.schemas).length} schemas`), ' · ', guideLink('/openapi.json', 'OpenAPI document'), ' · ', guideLink('/console', 'Console')),
  ];
}

const guidePage = () => [heading('How it works'), el('p', { class: 'lead' }, 'Rules that hold for every operation.'), el('div', { class: 'prose' }, paragraphs(api.info.description))];

function signingPage() {
  const { parameters, securitySchemes } = api.components;
  const list = (items) => el('ul', { class: 'members' }, items);
  const header = ({ name, schema, description }) => el('li', {}, el('div', { class: 'member' }, el('code', {}, name), el('span', { class: 'type' }, limits(schema))), el('p', { class: 'what' }, words(description)));
  const scheme = ([name, { description }]) => el('li', {}, el('div', { class: 'member' }, el('code', {}, name)), el('p', { class: 'what' }, words(description)));
  const step = (...text) => el('li', {}, text);
  return [
    heading('Credentials and signatures'),
    el('p', { class: 'lead' }, 'A credential says who asks. A signature shows that the author wants the change.'),
    el('div', { class: 'prose' }, el('h2', {}, 'Credentials'), list(Object.entries(securitySchemes).map(scheme)), el('h2', {}, 'Signing a request'), el('p', {}, 'The SDKs sign by themselves. Without them:'), el('ol', {}, step('Write the body to a file. Its exact bytes are signed.'), step('Take ', el('strong', {}, 'kind, target and payload'), ' from the page of the operation.'), step('Read the domain: ', words('`GET /.well-known/eip712-domain.json`'), '.'), step('Choose a nonce that the key has not used, and a deadline of at most 24 hours.'), step('Sign the typed data (EIP-712), and send the five headers with the body. ', el('code', {}, 'kedge sign'), ' does steps 3 to 5.'))),
    codeBox('With kedge sign', [{ title: '', texts: { curl: signedExample() } }]),
    el('div', { class: 'prose' }, el('h2', {}, 'The five headers'), list(Object.values(parameters).filter(({ name }) => /^x-signature/i.test(name)).map(header))),
  ];
}

const signedExample = () => `echo '{"name": "ticket"}' >body.json
kedge sign --url ${origin} --key-file ann.key \\
  --kind template.create --payload body.json --nonce 2 >headers
cat headers
# X-Signature: 0x…            r, s and v
# X-Signature-Address: 0x…    the address of the key
# X-Signature-Nonce: 2        not used before by this key
# X-Signature-Deadline: …     Unix seconds
# X-Signature-Salt: 0x…       32 random bytes
curl -H @headers -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' --data-binary @body.json '${origin}/templates'`;

function errorsPage() {
  const codes = new Map();
  for (const [status, response] of all.flatMap(refusals)) {
    for (const { code, meaning } of codesOf(response)) if (code) codes.set(`${status} ${code}`, { status, code, meaning });
  }
  const rows = [...codes.values()].sort((a, b) => a.status - b.status || a.code.localeCompare(b.code));
  const row = ({ status, code, meaning }) => el('tr', {}, el('td', {}, status), el('td', {}, el('code', {}, code)), el('td', {}, words(meaning)));
  return [
    heading('Errors'),
    el('p', { class: 'lead' }, 'Programs go by the code. The message states what to do.'),
    el('h2', {}, 'The form of an error'),
    inside({ $ref: '#/components/schemas/ApiError' }),
    el('h2', {}, 'All codes'),
    el('table', { class: 'errors wide' }, el('thead', {}, el('tr', {}, ['Status', 'Code', 'Meaning'].map((text) => el('th', { scope: 'col' }, text)))), el('tbody', {}, rows.map(row))),
  ];
}

const schemaNames = () => Object.keys(api.components.schemas).sort();
const schemasPage = () => [heading('Schemas'), el('p', { class: 'lead' }, 'The forms of bodies and answers. The SDKs have a type of the same name for each.'), el('ul', { class: 'names' }, schemaNames().map((name) => el('li', {}, schemaLink(name))))];

function schemaPage(name) {
  const schema = { $ref: `#/components/schemas/${name}` };
  const { description } = folded(schema);
  const mention = `"${schema.$ref}"`;
  const users = all.filter(({ sent: body, responses }) => [body?.schema, ...Object.values(responses).map(({ content = {} }) => Object.values(content).map((one) => one.schema))].some((part) => part && JSON.stringify(part).includes(mention)));
  const holders = Object.entries(api.components.schemas).filter(([, other]) => JSON.stringify(other).includes(mention));
  const names = (title, items) => (items.length > 0 ? [el('h2', {}, title), items] : null);
  return [
    el('p', { class: 'crumb' }, guideLink('#/schemas', 'Schemas')),
    heading(name),
    paragraphs(description),
    el('p', { class: 'what' }, [typeOf(schema), limits(schema)].filter(Boolean).join(' · ')),
    valuesOf(schema),
    inside(schema),
    names('Used by', users.length > 0 ? [operationList(users)] : []),
    names('Part of', holders.length > 0 ? [el('ul', { class: 'names' }, holders.map(([other]) => el('li', {}, schemaLink(other))))] : []),
  ];
}

const missingPage = (path) => [heading('No such page'), el('p', {}, 'Nothing here has the address ', el('code', {}, path.slice(0, 200)), '.'), el('p', {}, guideLink('#/', 'To the start'))];

// Addresses.

let groups = [];
/** All pages in the order of the menu: path, title, and what draws it. */
let pages = [];

function listPages() {
  const guides = [
    { path: '#/', title: 'Quickstart', draw: startPage },
    { path: '#/guide', title: 'How it works', draw: guidePage },
    { path: '#/signing', title: 'Credentials and signatures', draw: signingPage },
    { path: '#/errors', title: 'Errors', draw: errorsPage },
  ];
  const ofTag = (tag) => [{ path: pathTo('tag', tag.name), title: tag.name, label: 'Overview', draw: () => tagPage(tag), tag: tag.name }, ...tag.operations.map((operation) => ({ path: pathTo(operation.id), title: operation.summary, draw: () => operationPage(operation), operation, tag: tag.name }))];
  const schemas = schemaNames().map((name) => ({ path: pathTo('schema', name), title: name, draw: () => schemaPage(name), tag: 'Schemas' }));
  pages = [...guides, ...groups.flatMap(ofTag), { path: '#/schemas', title: 'Schemas', label: 'Overview', draw: schemasPage, tag: 'Schemas' }, ...schemas];
}

/** The address of a page, also from the anchors of earlier versions: `#mintObject`, `#tag-Objects`, `#top`. */
function pathOf(hash) {
  if (hash === '' || hash === '#top' || hash === '#content') return '#/';
  if (hash.startsWith('#/')) return hash;
  const tag = groups.find(({ name }) => `#tag-${name.replaceAll(' ', '-')}` === hash);
  return tag ? pathTo('tag', tag.name) : pathTo(hash.slice(1));
}

function goOn(at) {
  const link = (page, label, kind) => (page ? el('a', { href: page.path, rel: kind }, el('span', { class: 'type' }, label), page.title) : el('span'));
  return el('nav', { class: 'next', 'aria-label': 'Next and previous page' }, link(pages[at - 1], 'Previous', 'prev'), link(pages[at + 1], 'Next', 'next'));
}

function show(isFirst) {
  const path = pathOf(location.hash);
  if (path !== location.hash && location.hash !== '') history.replaceState(null, '', path);
  running?.abort();
  followers = [];
  choosers = [];
  const at = pages.findIndex((page) => page.path === path);
  const page = pages[at] ?? { title: 'No such page', draw: () => missingPage(path) };
  const main = byId('content');
  main.replaceChildren(el('article', { class: page.operation ? 'operation' : 'page' }, page.draw()), at >= 0 ? goOn(at) : '');
  document.title = `${page.title} · Kedge API`;
  mark(page);
  closeMenu();
  if (isFirst) return;
  scrollTo(0, 0);
  main.querySelector('h1').focus({ preventScroll: true });
}

// The menu.

const links = new Map();

function drawMenu() {
  const link = ({ path, title, label, operation }) => {
    const method = operation && el('span', { class: `method ${operation.method}` }, operation.method === 'delete' ? 'DEL' : operation.method.toUpperCase());
    return el('a', { href: path }, method, el('span', {}, label ?? title));
  };
  const item = (page) => {
    const element = el('li', {}, link(page));
    links.set(page, element);
    return element;
  };
  const tags = [...groups.map(({ name }) => name), 'Schemas'];
  const group = (tag) => el('details', {}, el('summary', {}, tag), el('ul', {}, pages.filter((page) => page.tag === tag).map(item)));
  byId('pages').replaceChildren(el('ul', {}, pages.filter(({ tag }) => tag === undefined).map(item)), ...tags.map(group));
}

function mark(page) {
  for (const [other, element] of links) {
    if (other === page) element.firstChild.setAttribute('aria-current', 'page');
    else element.firstChild.removeAttribute('aria-current');
  }
  const group = links.get(page)?.closest('details');
  if (group) group.open = true;
  if (matchMedia('(min-width: 60rem)').matches) links.get(page)?.scrollIntoView({ block: 'nearest' });
}

const textOf = ({ title, operation }) => operation?.searched ?? title.toLowerCase();

function filterMenu() {
  const wanted = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const [page, element] of links) {
    const fits = wanted.every((word) => textOf(page).includes(word));
    element.hidden = !fits;
    count += Number(fits);
  }
  for (const group of byId('pages').querySelectorAll('details')) {
    const hits = [...group.querySelectorAll('li')].filter(({ hidden }) => !hidden).length;
    group.hidden = hits === 0;
    group.open = wanted.length > 0 || group.querySelector('[aria-current]') !== null;
  }
  byId('found').textContent = wanted.length === 0 ? '' : count === 0 ? 'Nothing fits.' : `${count} ${count === 1 ? 'page fits' : 'pages fit'}.`;
}

function closeMenu() {
  document.documentElement.classList.remove('menu-open');
  byId('menu').setAttribute('aria-expanded', 'false');
}

function openMenu() {
  document.documentElement.classList.add('menu-open');
  byId('menu').setAttribute('aria-expanded', 'true');
}

byId('menu').addEventListener('click', () => (document.documentElement.classList.contains('menu-open') ? closeMenu() : openMenu()));
byId('skip').addEventListener('click', () => byId('content').focus());
byId('filter').addEventListener('input', filterMenu);
byId('filter').addEventListener('keydown', (event) => {
  const typed = byId('filter').value.trim().toLowerCase();
  if (event.key !== 'Enter' || typed === '') return;
  const fitting = [...links].filter(([, element]) => !element.hidden);
  const best = fitting.find(([{ title }]) => title.toLowerCase().includes(typed)) ?? fitting[0];
  best?.[1].firstChild.click();
});

addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    openMenu();
    byId('filter').focus();
  }
  if (event.key !== 'Escape') return;
  if (document.activeElement === byId('filter')) {
    byId('filter').value = '';
    filterMenu();
  }
  if (document.documentElement.classList.contains('menu-open')) {
    closeMenu();
    if (byId('menu').checkVisibility?.() ?? true) byId('menu').focus();
  }
});

byId('theme').addEventListener('click', () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
  keep('theme', root.dataset.theme);
});
if (['light', 'dark'].includes(kept('theme'))) document.documentElement.dataset.theme = kept('theme');

try {
  const answer = await fetch('/openapi.json');
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  api = await answer.json();
  all = operations();
  for (const operation of all) byRoute.set(`${operation.method.toUpperCase()} ${operation.path}`, operation);
  groups = api.tags.map((tag) => ({ ...tag, operations: all.filter((operation) => operation.tags.includes(tag.name)) })).filter((tag) => tag.operations.length > 0);
  listPages();
  drawMenu();
  show(true);
  addEventListener('hashchange', () => show(false));
} catch (error) {
  const status = byId('status');
  status?.classList.add('bad');
  if (status) status.textContent = `The document could not be shown: ${error.message}`;
  throw error;
}
