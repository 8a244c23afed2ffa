// The text of src/generated/operations.ts: a table of all operations, and one method for each.

/**
 * Operations whose methods are written by hand: their bodies or answers are more than JSON, or they change the session.
 */
const BY_HAND = new Set([
  'exportLog', 'getFileContent', 'login', 'logout', 'refreshToken', 'registerWallet', 'streamEvents', 'submitAction', 'submitBatch',
  'updateOwnWallet', 'uploadFile',
]);

/**
 * What `x-signature` calls the target of a signed request, and what the client calls it. A new one is an error here.
 */
const TARGETS = {
  '': 'none',
  'id of the path': 'path',
  'template_id of the body': 'template',
  "id of the caller's wallet": 'wallet',
  "id of the caller's organization": 'organization',
  'object_id, or template_id of a mint': 'bus',
  'object_id of each action, or template_id of a mint': 'bus',
  'name of the file': 'file',
};

const PAYLOADS = {
  '': 'empty',
  'the body': 'body',
  'digest of the body': 'digest',
  'the body, or its digest if it holds a password': 'secret',
  'the text of payload': 'bus',
  'the text of each payload': 'bus',
  'digest of the file': 'file',
};

function known(table, words, operation) {
  if (!Object.hasOwn(table, words)) throw new Error(`${operation}: x-signature has ${JSON.stringify(words)}, which scripts/operations.mjs does not know`);
  return table[words];
}

function payloadOf(words, operation) {
  const member = /^\{"([a-z_]+)":"<id of the path>"\}$/.exec(words);
  return member === null ? { payload: known(PAYLOADS, words, operation) } : { payload: 'member', member: member[1] };
}

function signsOf(operation) {
  const signature = operation['x-signature'];
  if (signature === undefined) return null;
  const { kind, target, payload } = signature;
  return { kind, target: known(TARGETS, target, operation.operationId), ...payloadOf(payload, operation.operationId) };
}

const nameOf = (parameter) => parameter.name ?? parameter.$ref.split('/').at(-1);

function rowOf(method, path, operation, document) {
  const parameters = operation.parameters ?? [];
  const [, { content = {} }] = Object.entries(operation.responses).find(([status]) => status.startsWith('2'));
  const [type] = Object.keys(content);
  const { schema } = content[type] ?? {};
  const answer = schema?.$ref && document.components.schemas[schema.$ref.split('/').at(-1)];
  const { has_more: hasMore, cursor } = answer?.properties ?? {};
  return {
    method: method.toUpperCase(),
    path,
    query: parameters.filter((parameter) => parameter.in === 'query').map(nameOf),
    body: Object.keys(operation.requestBody?.content ?? {})[0] ?? null,
    answer: type === 'application/json' ? 'json' : 'text',
    page: hasMore !== undefined && cursor !== undefined,
    authorized: operation.security === undefined || operation.security.length > 0,
    keyed: parameters.some((parameter) => nameOf(parameter) === 'Idempotency-Key'),
    signs: signsOf(operation),
  };
}

const WIDTH = 118;

/** A text as lines of a comment. */
function comment(texts) {
  const lines = [];
  for (const text of texts) {
    if (lines.length > 0) lines.push('');
    let line = '';
    for (const word of text.replaceAll('*/', '*\\/').split(/\s+/)) {
      if (line.length + word.length + 1 > WIDTH) {
        lines.push(line);
        line = '';
      }
      line += (line === '' ? '' : ' ') + word;
    }
    lines.push(line);
  }
  return `  /**\n${lines.map((line) => `   * ${line}`.trimEnd()).join('\n')}\n   */\n`;
}

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

function methodOf(row, operation) {
  const id = operation.operationId;
  const names = [...row.path.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => name);
  const path = `{${names.map((name) => (camel(name) === name ? ` ${name}` : ` ${name}: ${camel(name)}`)).join(',')}${names.length > 0 ? ' ' : ''}}`;
  const parameters = names.map((name) => `${camel(name)}: string`);
  const given = [`path: ${path}`];
  if (row.body !== null) {
    parameters.push(`body: BodyOf<'${id}'>`);
    given.push('body');
  }
  if (row.query.length > 0) {
    const required = operation.parameters.some((parameter) => parameter.in === 'query' && parameter.required);
    parameters.push(`query: QueryOf<'${id}'>${required ? '' : ' = {}'}`);
    given.push('query');
  }
  const options = row.keyed ? 'ChangeOptions' : 'CallOptions';
  parameters.push(`options: ${options} = {}`);
  given.push('options');
  const texts = [operation.summary, operation.description, `\`${row.method} ${row.path}\``].filter(Boolean);
  const [result, call] = row.page ? [`Listing<AnswerOf<'${id}'>>`, 'list'] : [`Promise<AnswerOf<'${id}'>>`, 'call'];
  const call_ = `this.${call}<AnswerOf<'${id}'>>(OPERATIONS.${id}, { ${given.join(', ')} })`;
  return `${comment(texts)}  ${id}(${parameters.join(', ')}): ${result} {\n    return ${call_};\n  }\n`;
}

/** The whole file. */
export function operationsFile(document) {
  const rows = [];
  const methods = [];
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const row = rowOf(method, path, operation, document);
      rows.push(`  ${operation.operationId}: ${JSON.stringify(row)},`);
      if (!BY_HAND.has(operation.operationId)) methods.push(methodOf(row, operation));
    }
  }
  return `import type { Listing } from '../client/pages.js';
import type { AnswerOf, BodyOf, Call, CallOptions, ChangeOptions, Operation, QueryOf } from '../client/operation.js';

/** Every operation of the document, by its id. */
export const OPERATIONS = {
${rows.sort().join('\n')}
} as const satisfies Record<string, Operation>;

/** One method for each operation of the document whose body and answer are JSON. */
export abstract class Operations {
  /** Sends one request and returns its answer. */
  protected abstract call<T>(operation: Operation, call: Call): Promise<T>;

  /** The pages of a list. */
  protected abstract list<P extends { items: unknown[]; cursor: string | null }>(operation: Operation, call: Call): Listing<P>;

${methods.join('\n')}}
`;
}
