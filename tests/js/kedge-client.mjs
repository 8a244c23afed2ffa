// A small client over fetch: it signs each change, checks each receipt, and keeps its own nonces.

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesToHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import * as p from './protocol.mjs';
import { checkBatchReceipt, checkReceipt } from './receipts.mjs';

export class ServerError extends Error {
  constructor(status, envelope, headers) {
    super(`${status} ${envelope?.code}: ${envelope?.body?.message}`);
    this.status = status;
    this.code = envelope?.code;
    this.body = envelope?.body;
    this.headers = headers;
  }
}

/** How often a signed request is sent until its outcome is known. */
const SENDINGS_MAX = 6;

/** True if it is unknown whether a request was carried out: the answer says so, is a proxy's, or is missing. */
const isUnknown = (error) => !(error instanceof ServerError) || error.body?.outcome === 'unknown';

/** Reads the domain and the sequencer's keys that a server states; compare them with the contract before trusting them. */
export async function readTrust(baseUrl) {
  const answer = await (await fetch(`${baseUrl}/.well-known/eip712-domain.json`)).json();
  if (answer.name !== 'Digital Object Service' || answer.version !== '3') throw new p.Refused('another protocol');
  const { items } = await (await fetch(`${baseUrl}/sequencer-keys?limit=1000`)).json();
  const sequencer = items.length > 1 ? items.filter(({ from_batch: from, sequence }) => from === 0 || sequence !== null) : items[0].key;
  return { domain: p.domainOf(answer.chainId, answer.verifyingContract), sequencer };
}

export class KedgeClient {
  constructor(baseUrl, trust, privateKey = generatePrivateKey()) {
    this.baseUrl = baseUrl;
    this.trust = trust;
    this.account = privateKeyToAccount(privateKey);
    this.nonce = 0n;
    this.token = null;
  }

  /** Sends the request unchanged; resolves with {status, headers, body} or rejects with a ServerError. */
  async send(method, path, body, headers = {}) {
    const authorization = this.token === null ? {} : { authorization: `Bearer ${this.token}` };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(`${this.baseUrl}${path}`, { method, body, headers: { ...type, ...authorization, ...headers } });
    const text = await response.text();
    let parsed = null;
    try {
      parsed = text === '' ? null : JSON.parse(text);
    } catch {
      throw new Error(`${method} ${path} answered ${response.status} and no JSON: ${text.slice(0, 200)}`);
    }
    const highest = response.headers.get('x-nonce-highest');
    if (highest !== null && BigInt(highest) > this.nonce) this.nonce = BigInt(highest);
    if (!response.ok) throw new ServerError(response.status, parsed, response.headers);
    return { status: response.status, headers: response.headers, body: parsed };
  }

  /**
   * Sends a signed request until its outcome is known: always the same bytes, whose nonce is spent at most once. It is
   * never signed again. The idempotency key repeats a lost answer; where the server has forgotten the key, a nonce that
   * this request spent says that it is done: then the body is {already_done: true, sequence}.
   */
  async sendSigned(method, path, body, headers) {
    const all = { 'idempotency-key': randomUUID(), ...headers };
    let unsure = false;
    for (let sending = 1; ; sending += 1) {
      let wait_s = sending;
      try {
        return await this.send(method, path, body, all);
      } catch (error) {
        const spent = error.code === 'NONCE_REUSED';
        const reason = error.body?.reason;
        if (unsure && spent && reason === 'done') {
          return { status: error.status, headers: error.headers, body: { already_done: true, sequence: error.body.sequence } };
        }
        const inFlight = unsure && (error.code === 'IDEMPOTENCY_IN_PROGRESS' || (spent && reason !== 'refused'));
        if (!(isUnknown(error) || inFlight) || sending === SENDINGS_MAX) throw error;
        unsure = true;
        wait_s = Number(error.headers?.get('retry-after') ?? wait_s);
      }
      await sleep(wait_s * 1000);
    }
  }

  get(path) {
    return this.send('GET', path);
  }

  /** Signs actions [{kind, target, payload}]; returns the headers to send and the content of each action. */
  async sign(actions, { atomic = false, nonce, deadline, seed = bytesToHex(randomBytes(32)), domain = this.trust.domain } = {}) {
    const salted = actions.map((action, i) => ({ ...action, salt: p.saltOf(seed, i) }));
    this.nonce += 1n;
    const message = {
      signer: this.account.address,
      nonce: nonce ?? this.nonce,
      deadline: deadline ?? BigInt(Math.floor(Date.now() / 1000) + 300),
      atomic,
      actions: salted,
    };
    const signature = await this.account.signTypedData({ domain, types: p.TYPES, primaryType: 'ActionRequest', message });
    const contents = salted.map(({ salt, ...action }) => p.contentOf({ ...action, signer: message.signer, authority: p.authorityOf(signature, salt) }));
    const headers = {
      'x-signature': signature,
      'x-signature-address': message.signer,
      'x-signature-nonce': String(message.nonce),
      'x-signature-deadline': String(message.deadline),
      'x-signature-salt': seed,
    };
    return { headers, contents };
  }

  /** One action, signed over the payload's text; its receipt is checked. */
  async change(method, path, kind, target, payload, body = payload) {
    const { headers, contents } = await this.sign([{ kind, target, payload }]);
    const answer = await this.sendSigned(method, path, body, headers);
    if (!answer.body.already_done) await checkReceipt(answer.body.receipt, this.trust, contents[0]);
    return { ...answer.body, content: contents[0] };
  }

  /** The effects that actions would have, and the typed data that a wallet signs for them. */
  async preview(body) {
    return (await this.send('POST', '/ebus/actions/preview', body)).body;
  }

  async register(registration) {
    const body = JSON.stringify({ ...registration, address: this.account.address, blind: randomBytes(16).toString('base64') });
    const answer = await this.change('POST', '/wallets/register', 'wallet.register', '', p.digestText(new TextEncoder().encode(body)), body);
    this.token = answer.access_token;
    return answer;
  }

  async login(email, password) {
    const { body } = await this.send('POST', '/wallets/login', JSON.stringify({ email, password }));
    this.token = body.access_token;
    return body;
  }

  createTemplate(template) {
    return this.change('POST', '/templates', 'template.create', '', JSON.stringify(template));
  }

  createVariations(id, variations) {
    return this.change('POST', `/templates/${id}/variations`, 'template.variations', id, JSON.stringify({ variations }));
  }

  update(id, properties) {
    return this.change('PATCH', `/objects/${id}`, 'update', id, JSON.stringify({ properties }));
  }

  transfer(id, to) {
    return this.change('POST', `/objects/${id}/transfer`, 'transfer', id, JSON.stringify({ to }));
  }

  /**
   * Up to 500 actions [{kind, target, payload}] under one signature. Payloads are texts and go into the body unchanged.
   * The receipt is checked, and the answer is returned with the contents of all actions.
   */
  async batch(actions, { atomic = false } = {}) {
    const slices = actions.map(({ kind, target, payload }) => {
      const member = kind === 'mint' ? 'template_id' : 'object_id';
      return `{"action_type":${JSON.stringify(kind)},"${member}":${JSON.stringify(target)},"payload": ${payload} }`;
    });
    const { headers, contents } = await this.sign(actions, { atomic });
    const { body } = await this.sendSigned('POST', '/ebus/actions/batch', `{"actions":[${slices.join(',\n')}],"atomic":${atomic}}`, headers);
    if (body.receipt) await checkBatchReceipt(body.receipt, this.trust, contents);
    return { ...body, contents };
  }
}
