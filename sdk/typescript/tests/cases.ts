// The table of files in crates/protocol/vectors: receipts, proof files and claims, each with its verdict.

import { readFileSync } from 'node:fs';
import { domainOf } from '@kedge/sdk/verify';
import { repository } from './setup.js';

export interface Case {
  name: string;
  kind: string;
  valid: boolean;
  contents: `0x${string}`[];
  /** The file, as it is spelled. */
  text: string;
}

export const read = (path: string): string => readFileSync(new URL(path, repository), 'utf8');

const [first = '', , ...lines] = read('crates/protocol/vectors/files.json').split('\n');

/** What the table trusts. */
export const state = JSON.parse(`${first.replace(/,$/, '')}}`);

export const trust = { domain: domainOf(BigInt(state.domain.chain_id), state.domain.verifying_contract), sequencer: state.sequencer };

// A case a line, and the file last.
export const cases: Case[] = lines.slice(0, -2).map((line) => {
  const whole = line.replace(/,$/, '');
  const entry = JSON.parse(whole);
  return { ...entry, text: entry.text ?? whole.slice(whole.indexOf('"file":') + 7, -1) };
});
