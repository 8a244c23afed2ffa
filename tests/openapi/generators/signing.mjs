// Signs a generated client's requests: a `fetch` that finds the request's operation in the document and replaces the
// five headers of the signature, which the client fills with well-formed placeholders.

import { createHash, randomBytes } from 'node:crypto';
import { bytesToHex, concat, keccak256, numberToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const text = (name) => ({ name, type: 'string' });
const TYPES = {
  ActionRequest: [
    { name: 'signer', type: 'address' },
    { name: 'nonce', type: 'uint64' },
    { name: 'deadline', type: 'uint64' },
    { name: 'atomic', type: 'bool' },
    { name: 'actions', type: 'Action[]' },
  ],
  Action: [text('kind'), text('target'), text('payload'), { name: 'salt', type: 'bytes32' }],
};

export const UNSIGNED = {
  'X-Signature': `0x${'00'.repeat(65)}`,
  'X-Signature-Address': `0x${'00'.repeat(20)}`,
  'X-Signature-Nonce': '0',
  'X-Signature-Deadline': '0',
  'X-Signature-Salt': `0x${'00'.repeat(32)}`,
};

/** The operation of a request, with the id in its path. */
function operationOf(document, method, path) {
  for (const [template, item] of Object.entries(document.paths)) {
    const found = new RegExp(`^${template.replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(path);
    if (found && item[method.toLowerCase()]) return [item[method.toLowerCase()], found[1]];
  }
  throw new Error(`no operation ${method} ${path}`);
}

/** Kind, target and payload, by the document's rules for the operations of these tests. */
function signed(rule, id, body) {
  const value = JSON.parse(body);
  const targets = { '': '', 'id of the path': id, 'template_id of the body': value.template_id };
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
  if (rule.kind === 'action_type') return { kind: value.action_type, target: value.object_id, payload: JSON.stringify(value.payload) ?? '{}' };
  return { kind: rule.kind, target: targets[rule.target], payload: rule.payload === 'digest of the body' ? digest : body };
}

export class Signer {
  constructor(document, domain) {
    this.document = document;
    this.domain = domain;
    this.account = privateKeyToAccount(bytesToHex(randomBytes(32)));
    this.nonce = 0n;
    this.token = undefined;
    this.called = new Set();
  }

  get address() {
    return this.account.address;
  }

  async headers(rule, id, body) {
    this.nonce += 1n;
    const seed = bytesToHex(randomBytes(32));
    const salt = keccak256(concat([seed, numberToHex(0, { size: 2 })]));
    const deadline = BigInt(Math.floor(Date.now() / 1000) + 300);
    const message = { signer: this.address, nonce: this.nonce, deadline, atomic: false, actions: [{ ...signed(rule, id, body), salt }] };
    const signature = await this.account.signTypedData({ domain: this.domain, types: TYPES, primaryType: 'ActionRequest', message });
    return {
      'X-Signature': signature,
      'X-Signature-Address': this.address,
      'X-Signature-Nonce': String(this.nonce),
      'X-Signature-Deadline': String(deadline),
      'X-Signature-Salt': seed,
    };
  }

  /** A replacement for `fetch`. */
  fetch = async (input, init) => {
    const request = new Request(input, init);
    const body = await request.text();
    const [operation, id] = operationOf(this.document, request.method, new URL(request.url).pathname);
    this.called.add(operation.operationId);
    const headers = new Headers(request.headers);
    if (operation['x-signature']) {
      for (const [name, value] of Object.entries(await this.headers(operation['x-signature'], id, body))) headers.set(name, value);
    }
    if (this.token && operation.security.length > 0) headers.set('Authorization', `Bearer ${this.token}`);
    return fetch(request.url, { method: request.method, headers, body: body || undefined });
  };
}

/** The server's document and a key to sign with. */
export async function connected(url) {
  const document = await (await fetch(`${url}/openapi.json`)).json();
  const { name, version, chainId, verifyingContract } = await (await fetch(`${url}/.well-known/eip712-domain.json`)).json();
  return new Signer(document, { name, version, chainId, verifyingContract });
}
