/** What the server knows under the text of a search: numbers, addresses, hashes, and names as far as the API finds them. */

import { ServerError, actionId } from '@kedge/sdk';
import { isId, shortened } from './pieces/text';
import type { Found } from './places';
import { login, reader } from './session';
import { readReady } from './standing';

/** The newest records that a hash is compared with. */
const NEWEST = 200;
/** Records of one kind that a name finds. */
const FOUND_MAX = 6;

type Search = () => Promise<Found[]>;

/** Nothing for what is not there, or not the caller's to see. */
async function unlessAbsent(search: Search): Promise<Found[]> {
  try {
    return await search();
  } catch (error) {
    if (error instanceof ServerError && (error.status === 404 || error.status === 400 || error.status === 403)) return [];
    throw error;
  }
}

const action = (id: string): Search => async () => {
  const of = await reader().getAction(id);
  return [{ kind: 'Action', title: `${of.action_type} at sequence ${of.sequence}`, note: of.id, path: `/actions/${of.id}` }];
};

function ofNumber(text: string): Search[] {
  const number = Number(text);
  return [
    async () => {
      const { batches } = await readReady();
      return number < batches ? [{ kind: 'Batch', title: `Batch ${number}`, note: 'by number', path: `/batches/${number}` }] : [];
    },
    async () => {
      const anchor = await reader().getAnchor(text);
      return [{ kind: 'Anchor', title: `Anchor ${anchor.number}`, note: anchor.status, path: `/anchors/${anchor.id}` }];
    },
    ...(login.value === null ? [] : [action(text)]),
    async () => {
      const { items } = await reader().listBatches({ limit: NEWEST, order: 'desc' });
      const of = items.find(({ first_sequence: first, last_sequence: last }) => first <= number && number <= last);
      return of === undefined ? [] : [{ kind: 'Batch', title: `Batch ${of.number}`, note: `holds sequence ${number}`, path: `/batches/${of.id}` }];
    },
  ];
}

function ofHash(hash: string): Search[] {
  const is = (value: string | null): boolean => value?.toLowerCase() === hash;
  const place = (record: object): string | undefined => Object.entries(record).find(([, value]) => typeof value === 'string' && is(value))?.[0];
  return [
    ...(login.value === null ? [] : [action(actionId(hash as `0x${string}`))]),
    async () => {
      const { items } = await reader().listBatches({ limit: NEWEST, order: 'desc' });
      return items.flatMap((batch) => {
        const member = place(batch);
        return member === undefined ? [] : [{ kind: 'Batch', title: `Batch ${batch.number}`, note: `its ${member.replaceAll('_', ' ')}`, path: `/batches/${batch.id}` }];
      });
    },
    async () => {
      const { items } = await reader().listAnchors({ limit: NEWEST, order: 'desc' });
      return items.flatMap((anchor) => {
        const member = place(anchor);
        const name = member === 'tx_hash' ? 'transaction' : member?.replaceAll('_', ' ');
        return name === undefined ? [] : [{ kind: 'Anchor', title: `Anchor ${anchor.number}`, note: `its ${name}`, path: `/anchors/${anchor.id}` }];
      });
    },
  ];
}

type ObjectFilter = Parameters<ReturnType<typeof reader>['searchObjects']>[0]['filter'];

const objects = (filter: ObjectFilter, note: string): Search => async () => {
  const { items } = await reader().searchObjects({ filter, limit: FOUND_MAX });
  return items.map(({ id, properties }) => {
    const { name } = (properties ?? {}) as { name?: unknown };
    return { kind: 'Object', title: typeof name === 'string' ? name : shortened(id), note: `${note}${typeof name === 'string' ? `, ${shortened(id)}` : ''}`, path: `/objects/${id}` };
  });
};

function ofAddress(address: string): Search[] {
  const is = (value: string): boolean => value.toLowerCase() === address;
  return [
    async () => {
      const { sequencer, verifyingContract: contract } = await reader().getDomain();
      if (is(contract)) return [{ kind: 'Contract', title: 'The contract of the log', note: 'its anchors', path: '/anchors' }];
      return is(sequencer) ? [{ kind: 'Sequencer', title: 'The sequencer of the log', note: 'signs its batches', path: '/batches' }] : [];
    },
    ...(login.value === null
      ? []
      : [
          async () => {
            const members = await reader().listMembers({ limit: 100 }).take(1_000);
            return members.filter((one) => is(one.address)).map(({ email, nickname }) => ({ kind: 'Member', title: nickname ?? email, note: email, path: '/members' }));
          },
          objects({ field: 'owner_address', op: 'eq', value: address }, 'owned by this address'),
        ]),
  ];
}

function ofName(text: string): Search[] {
  if (login.value === null) return [];
  const lower = text.toLowerCase();
  const has = (...texts: (string | null)[]): boolean => texts.some((one) => one?.toLowerCase().includes(lower));
  return [
    async () => {
      const { items } = await reader().listTemplates({ limit: NEWEST, order: 'desc' });
      const named = items.filter(({ id, name }) => has(name, id)).slice(0, FOUND_MAX);
      return named.map(({ id, name }) => ({ kind: 'Template', title: name, note: shortened(id), path: `/templates/${id}` }));
    },
    /^obj_[0-9a-z]+$/.test(lower)
      ? objects({ field: 'id', op: 'prefix', value: lower }, 'its id begins with that')
      : objects({ field: 'properties.name', op: 'contains', value: text }, 'its name has that'),
    async () => {
      const { items } = await reader().listFiles({ limit: NEWEST, order: 'desc' });
      const named = items.filter(({ id, name }) => has(name, id)).slice(0, FOUND_MAX);
      return named.map(({ id, name }) => ({ kind: 'File', title: name, note: shortened(id), path: `/files/${id}` }));
    },
    async () => {
      const members = await reader().listMembers({ limit: NEWEST }).take(NEWEST);
      const named = members.filter(({ email, nickname, id }) => has(email, nickname, id)).slice(0, FOUND_MAX);
      return named.map(({ email, nickname }) => ({ kind: 'Member', title: nickname ?? email, note: email, path: '/members' }));
    },
  ];
}

function searchesFor(text: string): Search[] {
  const lower = text.toLowerCase();
  if (/^[0-9]{1,15}$/.test(text)) return ofNumber(text);
  if (/^0x[0-9a-f]{64}$/.test(lower)) return ofHash(lower);
  if (/^0x[0-9a-f]{40}$/.test(lower)) return ofAddress(lower);
  if (isId(lower) && !lower.startsWith('wal_')) return [];
  return lower.length < 2 ? [] : ofName(text);
}

/** Asks the server what a text names. Throws what stopped a search, unless others found something. */
export async function find(text: string): Promise<Found[]> {
  const answers = await Promise.allSettled(searchesFor(text.trim()).map(unlessAbsent));
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (found.length === 0 && failed !== undefined) throw failed.reason;
  // A batch can be found by its number and by a sequence.
  return found.filter(({ path, title }, place) => found.findIndex((other) => other.path === path && other.title === title) === place);
}
