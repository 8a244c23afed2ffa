// How many actions a second one Node process signs, sends and checks: `npm run bench` after `npm test`, with KEDGE_BIN.
// The server runs on the same machine. Names of rows as arguments run those rows alone.

import { randomUUID } from 'node:crypto';
import { cpus } from 'node:os';
import { KedgeClient, generateKey } from '@kedge/sdk';
import { accelerate, keepAliveFetch } from '@kedge/sdk/node';
import { startServer } from '#scripts/server.mjs';

const RUNS = 3;
const SINGLES = 3000;
const IN_FLIGHT = 64;
const BATCHES = 10;

interface Row {
  readonly name: string;
  readonly fast: boolean;
  readonly verify: boolean;
}

// In this order: what is compiled stays so.
const ROWS: Row[] = [
  { name: 'plain', fast: false, verify: true },
  { name: 'plain-unchecked', fast: false, verify: false },
  { name: 'fast', fast: true, verify: true },
  { name: 'fast-unchecked', fast: true, verify: false },
];

async function rate(count: number, run: () => Promise<void>): Promise<{ perSecond: number; cpuMicros: number }> {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  await run();
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: Math.round((count * 1000) / (performance.now() - start)), cpuMicros: Math.round((user + system) / count) };
}

async function measure(row: Row, baseUrl: string): Promise<void> {
  const fetch = row.fast ? keepAliveFetch({ connections: IN_FLIGHT }) : undefined;
  const kedge = new KedgeClient({ baseUrl, signer: generateKey(), verify: row.verify, ...(fetch ? { fetch } : {}) });
  await kedge.registerWallet({ email: `${randomUUID()}@example.com`, password: 'a long enough passphrase' });
  const { id } = await kedge.createTemplate({ name: 'ticket' });
  const mint = kedge.batch();
  for (let n = 0; n < 500; n += 1) mint.mint(id);
  const objects = (await mint.send()).map(({ objectId }) => objectId as string);
  const singles = async (count: number): Promise<void> => {
    let next = 0;
    const one = async (): Promise<void> => {
      while (next < count) {
        const n = (next += 1);
        await kedge.submitAction({ action_type: 'emit', object_id: objects[n % 500] as string, payload: { n } });
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, one));
  };
  const batches = async (count: number): Promise<void> => {
    for (let round = 0; round < count; round += 1) {
      const batch = kedge.batch();
      for (const object of objects) batch.emit(object, { round });
      await batch.send({ minimal: true });
    }
  };
  await singles(SINGLES / 4);
  for (let run = 1; run <= RUNS; run += 1) {
    const single = await rate(SINGLES, () => singles(SINGLES));
    const batch = await rate(BATCHES * 500, () => batches(BATCHES));
    console.log(`${row.name} ${run}: single ${single.perSecond}/s (${single.cpuMicros} us of processor each), batches of 500 ${batch.perSecond}/s (${batch.cpuMicros} us each)`);
  }
  fetch?.close();
}

const wanted = process.argv.slice(2);
const server = await startServer({ KEDGE_RATE_LIMITS: 'off' });
try {
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}, ${IN_FLIGHT} in flight`);
  for (const row of ROWS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    if (row.fast) await accelerate();
    await measure(row, server.baseUrl);
  }
} finally {
  await server.stop();
}
