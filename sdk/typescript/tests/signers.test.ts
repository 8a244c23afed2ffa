// Private keys of signers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signerOf } from '@kedge/sdk';

test('a private key has 32 bytes', () => {
  const secret = `0x${'07'.repeat(32)}` as const;
  assert.equal(signerOf(secret).address, signerOf(new Uint8Array(32).fill(7)).address);
  for (const other of ['0x12', '0x', `${secret}00`] as const) assert.throws(() => signerOf(other), /^TypeError: a private key has 32 bytes/, other);
  assert.throws(() => signerOf(new Uint8Array([7])), TypeError);
  assert.throws(() => signerOf(secret.slice(2) as `0x${string}`), TypeError);
  for (const digits of ['00', 'ff']) assert.throws(() => signerOf(`0x${digits.repeat(32)}`), Error, digits);
});
