// The call of an operation: for curl, and with the SDKs, whose methods have names that follow from the operation's id.

const origin = location.origin;
const EMAIL = 'ann@example.com';
const PASSWORD = 'a long enough passphrase';

const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

// curl.

/** What the target of a signature is, for a shell: a value of this request, or words for it. */
function targetOf(meaning, path, body) {
  if (meaning === '') return '';
  if (meaning === 'id of the path') return path.id ?? '<id>';
  if (meaning === 'template_id of the body') return body?.template_id ?? '<template_id>';
  if (meaning === 'name of the file') return body?.name ?? '<name>';
  return `"$${meaning.endsWith('wallet') ? 'WALLET_ID' : 'ORGANIZATION_ID'}"`;
}

/** How the headers of a signature are made: by the command line where it can, else in words. */
function signingCommand(operation, path, body) {
  const { kind, target, payload } = operation['x-signature'];
  const command = (what, about, more) => `kedge sign --url ${origin} --key-file ann.key \\\n  --kind ${what} --nonce 8${more ? ` ${more}` : ''} \\\n  ${about ? `--target ${about} ` : ''}>headers`;
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

function curlCall(operation, body) {
  let { path } = operation;
  const query = [];
  const lines = [];
  for (const parameter of operation.parameters) {
    const { name, in: place, example } = parameter;
    const value = example ?? `<${name}>`;
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (place === 'query' && isShown(parameter)) query.push(`${name}=${encodeURIComponent(value)}`);
    else if (place === 'header' && example !== undefined && isShown(parameter) && !/^x-(signature|request-id)/i.test(name)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  }
  const signed = operation['x-signature'] !== undefined;
  if (signed) lines.unshift('-H @headers');
  if (needsLogin(operation)) lines.unshift('-H "Authorization: Bearer $TOKEN"');
  if (operation.multipart) {
    lines.push(`-F file=@${quoted(body?.name ?? '<file>')}`, `-F name=${quoted(body?.name ?? '<name>')}`);
  } else if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'", signed ? '--data-binary @body.json' : `--data ${quoted(JSON.stringify(body))}`);
  }
  const url = `${origin}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const method = operation.method === 'get' ? (operation.id === 'streamEvents' ? '-N ' : '') : `-X ${operation.method.toUpperCase()} `;
  const call = [`curl ${method}${quoted(url)}`, ...lines].join(' \\\n  ');
  return signed ? `${signingCommand(operation, pathValues(operation), body)}\n${call}` : call;
}

const needsLogin = ({ security = [] }) => security.length > 0 && security.every((one) => Object.keys(one).length > 0);
const pathValues = ({ parameters }) => Object.fromEntries(parameters.filter(({ in: place }) => place === 'path').map(({ name, example }) => [name, example ?? `<${name}>`]));

// The SDKs.

const TYPESCRIPT = {
  text: (text) => `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`,
  key: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : TYPESCRIPT.text(name)),
  words: { null: 'null', true: 'true', false: 'false' },
  space: ' ',
  indent: '  ',
};
const PYTHON = {
  text: (text) => JSON.stringify(text),
  key: (name) => JSON.stringify(name),
  words: { null: 'None', true: 'True', false: 'False' },
  space: '',
  indent: '    ',
};
const LINE = 76;

/** Arguments in a line, or in a line each. */
function listed(given, indent) {
  const line = given.join(', ');
  return given.length < 2 || line.length <= LINE || line.includes('\n') ? line : `\n${given.map((each) => `${indent}${each},\n`).join('')}`;
}

/** A value as a literal of one of the two languages. */
function literal(value, style, indent = '') {
  if (typeof value === 'string') return style.text(value);
  if (value === null || typeof value === 'boolean') return style.words[value];
  if (typeof value !== 'object') return String(value);
  const list = Array.isArray(value);
  const parts = (deeper) => (list ? value.map((item) => literal(item, style, deeper)) : Object.entries(value).map(([name, item]) => `${style.key(name)}: ${literal(item, style, deeper)}`));
  const [open, close] = list ? '[]' : '{}';
  const flat = parts(indent);
  if (flat.length === 0) return open + close;
  const space = list ? '' : style.space;
  const line = `${open}${space}${flat.join(', ')}${space}${close}`;
  if (line.length + indent.length <= LINE && !line.includes('\n')) return line;
  const deeper = indent + style.indent;
  return `${open}\n${parts(deeper).map((part) => `${deeper}${part},\n`).join('')}${indent}${close}`;
}

/** Optional parameters whose examples belong to other requests than the first one to try. */
const LEFT_OUT = ['cursor', 'at_sequence', 'owner_id', 'created_after', 'Idempotency-Key', 'If-None-Match', 'Range', 'Prefer'];

/** Whether a call gives a parameter: it must be there, or has an example. */
const isShown = ({ name, example, required, deprecated }) => !deprecated && (required || (example !== undefined && !LEFT_OUT.includes(name)));
const queryOf = (operation) => {
  // The SDKs walk through all pages, so a page may be of any size.
  const isAsked = (parameter) => parameter.in === 'query' && isShown(parameter) && !(parameter.name === 'limit' && isPaged(operation));
  return Object.fromEntries(operation.parameters.filter(isAsked).map(({ name, example }) => [name, example ?? `<${name}>`]));
};
const without = (body, ...names) => Object.fromEntries(Object.entries(body ?? {}).filter(([name]) => !names.includes(name)));
const isEmpty = (value) => Object.keys(value).length === 0;
const headerOf = ({ parameters }, name) => parameters.find((parameter) => parameter.in === 'header' && parameter.name === name)?.example;

/** Whether the answer is a page of a list. */
function isPaged(operation) {
  const [[, { content = {} }] = [0, {}]] = successes(operation);
  const { properties = {} } = folded(content['application/json']?.schema);
  return ['items', 'cursor', 'has_more'].every((name) => name in properties);
}

/** Methods of the TypeScript client that the SDK writes by hand: their arguments are not body, query and options. */
const TYPESCRIPT_CALLS = {
  registerWallet: ({ body }) => `const { wallet } = await kedge.registerWallet(${literal(without(body, 'address', 'blind'), TYPESCRIPT)});`,
  login: () => `const { wallet } = await kedge.login('${EMAIL}', '${PASSWORD}');`,
  refreshToken: ({ body }) => `const { access_token } = await kedge.refreshToken(${TYPESCRIPT.text(body.refresh_token)});`,
  logout: () => 'await kedge.logout();',
  updateOwnWallet: ({ body }) => `const answer = await kedge.updateOwnWallet(${literal(without(body, 'blind'), TYPESCRIPT)});`,
  uploadFile: ({ body }) => `const answer = await kedge.uploadFile({ file: await openAsBlob('${body.name}'), name: '${body.name}' });`,
  getFileContent: ({ path }) => `const response = await kedge.getFileContent('${path.id}');\nconsole.log(await response.text());`,
  exportLog: ({ query }) => `for await (const text of kedge.exportLog(${isEmpty(query) ? '' : literal(query, TYPESCRIPT)})) process.stdout.write(text);`,
  streamEvents: ({ query }) => `for await (const event of kedge.streamEvents(${literal(query, TYPESCRIPT)})) {\n  console.log(event.type, event.object_id, event.position);\n}`,
};

function typescriptCall(operation, body) {
  const signed = operation['x-signature'] !== undefined;
  const isNew = operation.id === 'registerWallet';
  const names = ['KedgeClient', ...(isNew ? ['generateKey'] : [])];
  const lines = [`import { ${names.join(', ')} } from '@kedge/sdk';`];
  if (operation.multipart) lines.push("import { openAsBlob } from 'node:fs';");
  const signer = isNew ? ', signer: generateKey()' : signed ? ", signer: '0x…'" : '';
  lines.push('', `const kedge = new KedgeClient({ baseUrl: '${origin}'${signer} });${signer && !isNew ? ' // your private key' : ''}`);
  if (needsLogin(operation) || operation.id === 'logout') lines.push(`await kedge.login('${EMAIL}', '${PASSWORD}');`);
  const path = pathValues(operation);
  const query = queryOf(operation);
  const own = TYPESCRIPT_CALLS[operation.id]?.({ body, path, query });
  if (own) return [...lines, '', own, ...(own.startsWith('const answer') ? ['console.log(answer);'] : [])].join('\n');
  const match = headerOf(operation, 'If-Match');
  const given = Object.values(path).map(TYPESCRIPT.text);
  if (operation.sent) given.push(literal(body ?? {}, TYPESCRIPT));
  if (operation.parameters.some(({ in: place }) => place === 'query') && (!isEmpty(query) || match)) given.push(literal(query, TYPESCRIPT));
  if (match) given.push(`{ ifMatch: ${TYPESCRIPT.text(match)} }`);
  const call = `kedge.${operation.id}(${listed(given, '  ')})`;
  lines.push('', isPaged(operation) ? `for await (const item of ${call}) {\n  console.log(item);\n}` : `const answer = await ${call};\nconsole.log(answer);`);
  return lines.join('\n');
}

const PYTHON_KEYWORDS = ['from', 'in', 'is', 'not', 'and', 'or', 'if', 'for', 'class', 'as'];

/** The Python name of an operation or a parameter. */
function pythonName(text) {
  const name = text.replace(/(?<=[a-z])([A-Z])/g, '_$1').replaceAll('-', '_').toLowerCase().replace(/^x_/, '');
  return PYTHON_KEYWORDS.includes(name) ? `${name}_` : name;
}

const keywords = (values) => Object.entries(values).map(([name, value]) => `${pythonName(name)}=${literal(value, PYTHON)}`);

/** Methods of the Python client with other names or arguments than the operation. */
const PYTHON_CALLS = {
  registerWallet: ({ body }) => `answer = client.register(${[EMAIL, PASSWORD].map(PYTHON.text).concat(keywords(without(body, 'email', 'password', 'address', 'blind'))).join(', ')})`,
  logout: () => 'client.log_out()',
  uploadFile: ({ body }) => `answer = client.upload_file(Path(${PYTHON.text(body.name)}))`,
  getFileContent: ({ path }) => `with open("content", "wb") as file:\n    client.download_file(${PYTHON.text(path.id)}, file)`,
  exportLog: ({ query }) => `for line in client.export_lines(${query.from ?? ''}):\n    print(line)`,
  streamEvents: ({ query }) => `for event in client.follow_events(${keywords({ types: [query.type ?? 'object.*'], after_sequence: query.after_sequence ?? 0 }).join(', ')}):\n    print(event["type"], event["object_id"], event["position"])`,
};

function pythonCall(operation, body) {
  const signed = operation['x-signature'] !== undefined;
  const isNew = operation.id === 'registerWallet';
  const lines = operation.multipart ? ['from pathlib import Path'] : [];
  lines.push(`from kedge import Kedge${isNew ? ', KeySigner' : ''}`, '');
  const key = isNew ? ', key=KeySigner.random()' : signed ? ', key="0x…"' : '';
  lines.push(`client = Kedge("${origin}"${key})${key && !isNew ? '  # your private key' : ''}`);
  if (needsLogin(operation) || operation.id === 'logout') lines.push(`client.login({"email": "${EMAIL}", "password": "${PASSWORD}"})`);
  const path = pathValues(operation);
  const query = queryOf(operation);
  const own = PYTHON_CALLS[operation.id]?.({ body, path, query });
  if (own) return [...lines, '', own, ...(own.startsWith('answer') ? ['print(answer)'] : [])].join('\n');
  const match = headerOf(operation, 'If-Match');
  const given = [...Object.values(path).map(PYTHON.text), ...(operation.sent ? [literal(body ?? {}, PYTHON)] : []), ...keywords(query), ...(match ? keywords({ if_match: match }) : [])];
  let name = pythonName(operation.id);
  const paged = isPaged(operation);
  if (paged) name = `iter_${name.replace(/^(list|search)_/, '')}${operation.method === 'post' ? '_found' : ''}`;
  const call = `client.${name}(${listed(given, '    ')})`;
  lines.push('', paged ? `for item in ${call}:\n    print(item)` : `answer = ${call}\nprint(answer)`);
  return lines.join('\n');
}

/** The calls of an operation in all languages, one for each example. */
function callsOf(operation) {
  const bodies = operation.bodies.length > 0 ? operation.bodies : [{ title: '', value: undefined }];
  return bodies.map(({ title, value }) => ({
    title,
    texts: { curl: curlCall(operation, value), typescript: typescriptCall(operation, value), python: pythonCall(operation, value) },
  }));
}
