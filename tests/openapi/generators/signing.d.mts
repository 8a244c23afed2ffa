export const UNSIGNED: {
  'X-Signature': string;
  'X-Signature-Address': string;
  'X-Signature-Nonce': string;
  'X-Signature-Deadline': string;
  'X-Signature-Salt': string;
};
export class Signer {
  address: string;
  token: string | undefined;
  called: Set<string>;
  fetch: typeof globalThis.fetch;
}
export function connected(url: string): Promise<Signer>;
