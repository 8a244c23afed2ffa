// A client that hashes and signs with ethers alone, from docs/PROTOCOL.md and the server's answers.

import { randomBytes } from 'node:crypto';
import { Wallet, concat, getBytes, hexlify, keccak256, sha256, toBeHex, toUtf8Bytes, zeroPadValue } from 'ethers';

export const TYPES = {
  ActionRequest: [
    { name: 'signer', type: 'address' },
    { name: 'nonce', type: 'uint64' },
    { name: 'deadline', type: 'uint64' },
    { name: 'atomic', type: 'bool' },
    { name: 'actions', type: 'Action[]' },
  ],
  Action: [
    { name: 'kind', type: 'string' },
    { name: 'target', type: 'string' },
    { name: 'payload', type: 'string' },
    { name: 'salt', type: 'bytes32' },
  ],
};

const textHash = (text) => keccak256(toUtf8Bytes(text));
const saltOf = (seed, index) => keccak256(concat([seed, toBeHex(index, 2)]));

/** The content of an action in the log. */
export function contentOf({ kind, target, payload, salt }, signer, signature) {
  const authority = keccak256(concat([keccak256(signature), salt]));
  return sha256(concat([textHash(kind), textHash(target), textHash(payload), zeroPadValue(signer, 32), authority]));
}

export class EthersClient {
  constructor(baseUrl, domain) {
    this.baseUrl = baseUrl;
    this.domain = domain;
    this.wallet = Wallet.createRandom();
    this.nonce = 0;
    this.token = null;
  }

  /** The domain that the server states, in EIP-5267's shape. */
  static async connect(baseUrl) {
    const { name, version, chainId, verifyingContract } = await (await fetch(`${baseUrl}/.well-known/eip712-domain.json`)).json();
    return new EthersClient(baseUrl, { name, version, chainId, verifyingContract });
  }

  async send(method, path, body, headers = {}) {
    const authorization = this.token === null ? {} : { authorization: `Bearer ${this.token}` };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(`${this.baseUrl}${path}`, { method, body, headers: { ...type, ...authorization, ...headers } });
    return { status: response.status, body: await response.json() };
  }

  async read(path) {
    const { status, body } = await this.send('GET', path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** The typed data for actions [{kind, target, payload}], and the seed of their salts. */
  message(actions, atomic = false) {
    const seed = hexlify(randomBytes(32));
    this.nonce += 1;
    const message = {
      signer: this.wallet.address,
      nonce: this.nonce,
      deadline: Math.floor(Date.now() / 1000) + 300,
      atomic,
      actions: actions.map((action, i) => ({ ...action, salt: saltOf(seed, i) })),
    };
    return { message, seed };
  }

  sign(message, domain = this.domain) {
    return this.wallet.signTypedData(domain, TYPES, message);
  }

  headers({ message, seed }, signature) {
    return {
      'x-signature': signature,
      'x-signature-address': message.signer,
      'x-signature-nonce': String(message.nonce),
      'x-signature-deadline': String(message.deadline),
      'x-signature-salt': seed,
    };
  }

  /** One action at the endpoint of its resource; returns the answer and the action's content. */
  async change(method, path, kind, target, payload, body = payload) {
    const asked = this.message([{ kind, target, payload }]);
    const signature = await this.sign(asked.message);
    const answer = await this.send(method, path, body, this.headers(asked, signature));
    return { ...answer, content: contentOf(asked.message.actions[0], this.wallet.address, signature) };
  }

  async register(email) {
    const blind = randomBytes(16).toString('base64');
    const body = JSON.stringify({ email, password: 'a long enough passphrase', address: this.wallet.address, blind });
    const digest = Buffer.from(getBytes(sha256(toUtf8Bytes(body)))).toString('base64');
    const answer = await this.change('POST', '/wallets/register', 'wallet.register', '', `sha-256=:${digest}:`, body);
    this.token = answer.body.access_token ?? null;
    return answer;
  }

  /** Signs the preview's typed data, as a browser's wallet would: types, domain and message from the server. */
  async signPreview(body) {
    const { status, body: preview } = await this.send('POST', '/ebus/actions/preview', body);
    if (status !== 200) throw new Error(`the preview answered ${status}: ${JSON.stringify(preview)}`);
    const { domain, message, types } = preview.typed_data;
    const { EIP712Domain: _, ...signed } = types;
    const signature = await this.wallet.signTypedData(domain, signed, message);
    this.nonce = Math.max(this.nonce, Number(message.nonce));
    const contents = message.actions.map((action) => contentOf(action, this.wallet.address, signature));
    return { preview, contents, headers: { ...preview.headers, 'X-Signature': signature } };
  }
}
