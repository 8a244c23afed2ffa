/** Confirmation by an Ethereum node that the contract holds a file's checkpoint. */

import type { Trust } from '@kedge/sdk';
import { type PublicClient, createPublicClient, http, isAddressEqual, parseAbi } from 'viem';
import type { OnChain, StateOnChain } from './work';

const ABI = parseAbi([
  'struct Record { uint64 sequence; uint64 issuedAt; uint64 anchoredAt; uint64 blockNumber; bytes32 history; }',
  'function checkpoint(uint64 batches) view returns (Record)',
  'function sequencerKeyAt(uint64 batch) view returns (address)',
  'function verifyState(uint64 batches, string key, bytes entry, bytes[] nodes) view returns (uint64 sequence)',
  'function verifyAbsence(uint64 batches, string key, bytes[] nodes) view returns (uint64 sequence)',
]);

/** The trusted key of a batch. */
function trustedKey({ sequencer }: Trust, batch: bigint): string | null {
  if (typeof sequencer === 'string') return sequencer;
  return sequencer.filter(({ from_batch: from }) => BigInt(from) <= batch).at(-1)?.key ?? null;
}

/** The URL of an RPC. Throws for invalid ones. */
export function rpcUrl(text: string): string {
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new Error('The URL of an RPC begins with https:// or http://.');
  return url.href;
}

/** Has the contract verify a state proof against the root that it holds; throws with its reason if it does not. */
async function askState(client: PublicClient, { batches, state, ...asked }: { address: `0x${string}`; abi: typeof ABI; blockTag: 'finalized'; batches: bigint; state: StateOnChain }): Promise<void> {
  const { key, entry, nodes } = state;
  if (entry === '0x') await client.readContract({ ...asked, functionName: 'verifyAbsence', args: [batches, key, nodes] });
  else await client.readContract({ ...asked, functionName: 'verifyState', args: [batches, key, entry, nodes] });
}

/**
 * Asks the contract at the finalized block. Returns its confirmation, or throws with the reason.
 *
 * The contract of the log's domain is trusted with the domain. The user must know any other one.
 */
export async function askContract(rpc: string, { contract, chainId, batch, checkpoint, state }: OnChain, trust: Trust): Promise<string> {
  const client = createPublicClient({ transport: http(rpcUrl(rpc), { retryCount: 1, timeout: 15_000 }) });
  const found = await client.getChainId();
  if (BigInt(found) !== chainId) throw new Error(`The RPC serves chain ${found}, but the log is on chain ${chainId}.`);
  if (!isAddressEqual(contract, trust.domain.verifyingContract)) {
    throw new Error(`The anchor is in the contract ${contract}, which is not the log's first one. Decide whether you trust it, and ask it yourself.`);
  }
  const asked = { address: contract, abi: ABI, blockTag: 'finalized' } as const;
  const [record, ...keys] = await Promise.all([
    client.readContract({ ...asked, functionName: 'checkpoint', args: [checkpoint.batches] }),
    ...[batch, checkpoint.batches - 1n].map((of) => client.readContract({ ...asked, functionName: 'sequencerKeyAt', args: [of] })),
  ]);
  if (record.anchoredAt === 0n) throw new Error(`The contract holds no checkpoint of ${checkpoint.batches} batches at the finalized block.`);
  if (record.history !== checkpoint.history || record.sequence !== checkpoint.sequence) throw new Error('The contract holds another history than the file states.');
  for (const [place, key] of keys.entries()) {
    const trusted = trustedKey(trust, place === 0 ? batch : checkpoint.batches - 1n);
    if (trusted?.toLowerCase() !== key.toLowerCase()) throw new Error(`The contract names ${key} as the sequencer, not ${trusted}.`);
  }
  if (state !== null) await askState(client, { ...asked, batches: checkpoint.batches, state });
  const { blockNumber, anchoredAt } = record;
  const what = state === null ? 'holds this history' : 'verified the proof itself: it holds the checkpoint';
  return `The contract ${what} since block ${blockNumber}, ${new Date(Number(anchoredAt) * 1000).toISOString()}, and names the same sequencer.`;
}
