// "Try it": one request to this server, when the reader presses the button. It sends reads, and nothing that is signed or
// that changes something. An address never fills a field in, and a token stays in the memory of this page.

/** What may be sent with POST: it changes nothing, except that a login makes tokens. */
const HARMLESS = ['searchObjects', 'countObjects', 'previewActions', 'login'];
const BYTES_MAX = 200_000;
const PATIENCE_MS = 20_000;
const FIRST_HEADERS = ['content-type', 'x-request-id', 'x-sequence', 'etag', 'retry-after', 'ratelimit', 'ratelimit-policy'];

const isHarmless = ({ id, method, ...operation }) =>
  operation['x-signature'] === undefined && (method === 'get' || (method === 'post' && HARMLESS.includes(id)));

/** The reader's credential. It is kept nowhere else. */
const credential = { kind: 'bearer', value: '' };
/** What ends the request in flight, if another page is opened. */
let running = null;

/** The address of a request, or an error in words. */
function addressOf(operation, values) {
  let { path } = operation;
  const query = new URLSearchParams();
  for (const { name, in: place } of operation.parameters) {
    const value = values[`${place} ${name}`] ?? '';
    if (place === 'path') {
      // A browser takes these for steps to another path.
      if (/^\.{0,2}$/.test(value)) throw new Error(`Fill in ${name}.`);
      path = path.replace(`{${name}}`, () => encodeURIComponent(value));
    }
    if (place === 'query' && value !== '') query.append(name, value);
  }
  const url = new URL(`${path}${isEmpty([...query]) ? '' : `?${query}`}`, origin);
  if (url.origin !== origin) throw new Error('The request would go to another server.');
  return url;
}

/** The start of an answer: at most so many bytes, for at most so long. */
async function startOf(response, controller) {
  const chunks = [];
  let size = 0;
  let ending = '';
  const timer = setTimeout(() => {
    ending = `The rest was not read: the answer is not complete after ${PATIENCE_MS / 1000} s.`;
    controller.abort();
  }, PATIENCE_MS);
  try {
    const reader = response.body?.getReader();
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader.read()) {
      chunks.push(piece.value.subarray(0, BYTES_MAX - size));
      size += chunks.at(-1).length;
      if (size < BYTES_MAX) continue;
      ending = `The answer is cut after ${BYTES_MAX.toLocaleString('en')} bytes.`;
      controller.abort();
      break;
    }
  } catch (error) {
    ending ||= error.name === 'AbortError' ? 'You stopped it.' : error.message;
  } finally {
    clearTimeout(timer);
  }
  return { bytes: new Uint8Array(await new Blob(chunks).arrayBuffer()), ending };
}

async function sent(operation, values, body, controller) {
  const headers = { accept: Object.keys(successes(operation)[0]?.[1].content ?? {})[0] ?? '*/*' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (credential.value !== '' && credentials(operation) !== 'public') {
    if (credential.kind === 'bearer') headers.authorization = `Bearer ${credential.value}`;
    else headers[api.components.securitySchemes.api_key.name] = credential.value;
  }
  const options = { method: operation.method.toUpperCase(), headers, body, signal: controller.signal };
  const rules = { mode: 'same-origin', credentials: 'omit', redirect: 'error', cache: 'no-store', referrerPolicy: 'no-referrer' };
  const begin = performance.now();
  const response = await fetch(addressOf(operation, values), { ...options, ...rules });
  return { response, ms: Math.round(performance.now() - begin), ...(await startOf(response, controller)) };
}

const meaningOf = (code) => all.flatMap(refusals).flatMap(([, response]) => codesOf(response)).find((one) => one.code === code)?.meaning;

function outcomeView({ response, ms, bytes, ending }, operation) {
  const type = response.headers.get('content-type') ?? '';
  const isText = /json|text|xml|javascript/.test(type) || bytes.length === 0;
  const text = isText ? new TextDecoder().decode(bytes) : '';
  const isJson = /json/.test(type) && !/ndjson/.test(type);
  const shown = isJson && ending === '' ? indented(text) : text;
  const place = (name) => (FIRST_HEADERS.includes(name) ? FIRST_HEADERS.indexOf(name) : name.startsWith('x-ratelimit') ? 90 : 99);
  const headers = [...response.headers].sort(([a], [b]) => place(a) - place(b));
  const code = response.ok ? null : /"code":\s*"([A-Z_]+)"/.exec(text)?.[1];
  const token = operation.id === 'login' && response.ok ? /"access_token":\s*"([^"\\]+)"/.exec(text)?.[1] : undefined;
  return [
    el('p', { class: 'row' }, el('strong', { class: response.ok || response.status === 304 ? 'good' : 'bad' }, `${response.status} ${response.statusText}`), el('span', { class: 'type' }, `${ms} ms · ${bytes.length.toLocaleString('en')} bytes`)),
    code && meaningOf(code) ? el('p', { class: 'what' }, el('code', {}, code), ': ', words(meaningOf(code))) : null,
    token ? el('button', { type: 'button', onclick: (event) => useToken(token, event.target) }, 'Use this token in this page') : null,
    el('details', { class: 'more', open: true }, el('summary', {}, `${headers.length} headers`), el('div', { class: 'headers', tabindex: '0', role: 'group', 'aria-label': 'Headers of the answer' }, el('dl', {}, headers.map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])))),
    shown !== '' ? el('pre', { tabindex: '0', role: 'group', 'aria-label': 'Body of the answer' }, isJson && shown.length < 60_000 ? markedJson(shown) : shown) : null,
    !isText ? el('p', { class: 'what' }, `The body is not text (${type || 'of no stated type'}) and is not shown.`) : null,
    ending ? el('p', { class: 'what' }, ending) : null,
  ];
}

function useToken(token, button) {
  credential.kind = 'bearer';
  credential.value = token;
  button.textContent = 'It is used until the page is reloaded';
  button.disabled = true;
}

let fieldCount = 0;

/** A labelled field of the form. */
function field(label, about, control) {
  fieldCount += 1;
  control.id = `field-${fieldCount}`;
  return el('div', { class: 'field' }, el('label', { for: control.id }, label, about ? el('span', { class: 'type' }, about) : null), control);
}

const plain = { autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' };

function control(parameter, values) {
  const { name, in: place, example, schema, required } = parameter;
  const key = `${place} ${name}`;
  const { enum: options, type } = folded(schema);
  const choices_ = options ?? ([type].flat().includes('boolean') ? [true, false] : null);
  const oninput = (event) => (values[key] = event.target.value.trim());
  if (choices_) return el('select', { onchange: oninput }, el('option', { value: '' }, ''), choices_.map((value) => el('option', {}, String(value))));
  return el('input', { type: 'text', placeholder: example === undefined ? undefined : String(example), oninput, required, ...plain });
}

function credentialFields() {
  const kinds = { bearer: 'Access token', api_key: 'API key' };
  const chosen = el('select', { onchange: (event) => (credential.kind = event.target.value) }, Object.entries(kinds).map(([value, text]) => el('option', { value, selected: value === credential.kind }, text)));
  // Browsers offer to keep passwords, but not codes that are good once.
  const value = el('input', { type: 'password', oninput: (event) => (credential.value = event.target.value.trim()), ...plain, autocomplete: 'one-time-code' });
  value.value = credential.value;
  return el(
    'fieldset',
    {},
    el('legend', {}, 'Credential'),
    field('Kind', '', chosen),
    field('Value', '', value),
    el('p', { class: 'what' }, 'It stays in the memory of this page until you reload or close it, and goes to this server alone. ', el('a', { href: pathTo('login') }, 'Log in'), ' to get a token.'),
  );
}

/** The form of an operation, or why there is none. */
function trial(operation) {
  if (!isHarmless(operation)) {
    const reason = operation['x-signature'] ? ['This request is signed with a key of yours, so the page does not send it. ', el('a', { href: '#/signing' }, 'How to sign')] : 'This request changes something, so the page does not send it.';
    return el('p', { class: 'note' }, reason, operation['x-signature'] ? '.' : '');
  }
  const values = {};
  const parameters = operation.parameters.filter(({ in: place, deprecated }) => ['path', 'query'].includes(place) && !deprecated);
  const fields = parameters.map((parameter) => ({ ...parameter, element: field(parameter.name, parameter.required ? '' : 'optional', control(parameter, values)) }));
  const [first, more] = [fields.filter(({ required }) => required), fields.filter(({ required }) => !required)];
  const body = operation.sent ? el('textarea', { rows: '8', ...plain }) : null;
  if (body) body.value = JSON.stringify(operation.bodies[0]?.value ?? {}, null, 2);
  const send = el('button', { type: 'submit', class: 'main' }, 'Send the request');
  const stop = el('button', { type: 'button', hidden: true, onclick: () => running?.abort() }, 'Stop');
  const outcome = el('div', { class: 'outcome', role: 'region', 'aria-live': 'polite', 'aria-label': 'Answer of the server' });
  const onsubmit = async (event) => {
    event.preventDefault();
    running?.abort();
    const controller = new AbortController();
    running = controller;
    send.disabled = true;
    stop.hidden = false;
    outcome.replaceChildren(el('p', { class: 'what' }, 'Sent …'));
    try {
      const answer = await sent(operation, values, body?.value, controller);
      outcome.replaceChildren(...outcomeView(answer, operation).filter(Boolean));
    } catch (error) {
      outcome.replaceChildren(el('p', { class: 'bad' }, error.name === 'AbortError' ? 'You stopped it.' : `There is no answer: ${error.message}`));
    }
    send.disabled = false;
    stop.hidden = true;
  };
  const form = el(
    'form',
    { onsubmit },
    first.map(({ element }) => element),
    more.length > 0 ? el('details', { class: 'more' }, el('summary', {}, `${more.length} optional ${more.length === 1 ? 'parameter' : 'parameters'}`), more.map(({ element }) => element)) : null,
    body ? field('Body of the request', '', body) : null,
    credentials(operation) === 'public' ? null : credentialFields(),
    el('p', { class: 'row' }, send, stop),
  );
  return el('details', { class: 'trial' }, el('summary', {}, 'Try it on this server'), form, outcome);
}
