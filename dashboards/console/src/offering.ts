/** Which actions an object allows its viewer now: by its state, and by what the template says of who may do what. */

import type { Schemas } from '@kedge/sdk';

type ObjectView = Schemas['ObjectView'];
type WalletView = Schemas['WalletView'];
type Rule = Schemas['TemplateView']['actions'][number];

/** The kinds that every object knows, in the order in which they are shown. */
const KINDS = ['update', 'set_attributes', 'delete_attributes', 'transfer', 'lock', 'unlock', 'emit', 'burn'];

/** What is offered, or why nothing is. */
export type Offer = { readonly kinds: readonly string[]; readonly why: string };

function mayDo(who: Rule['who'], object: ObjectView, wallet: WalletView): boolean {
  if (who === 'anyone') return true;
  if (who === 'owner') return object.owner_id === wallet.id;
  return object.organization_id === wallet.organization_id && (wallet.role === 'owner' || wallet.role === 'admin');
}

/** The kinds that the wallet may ask for. The server decides; this spares the user what it would refuse. */
export function offered(object: ObjectView, rules: readonly Rule[], wallet: WalletView): Offer {
  if (object.status === 'burned') return { kinds: [], why: 'The object is burned: nothing more can be done with it.' };
  const own = rules.map(({ kind }) => kind).filter((kind) => kind.startsWith('x.'));
  const allowed = [...KINDS, ...own].filter((kind) => mayDo(rules.find((rule) => rule.kind === kind)?.who ?? 'owner', object, wallet));
  const isFor = (kind: string): boolean => (kind === 'unlock') === (object.status === 'locked');
  const kinds = allowed.filter(isFor);
  if (kinds.length > 0) return { kinds, why: '' };
  if (allowed.length === 0) return { kinds, why: 'The template does not let you do anything with this object.' };
  return { kinds, why: object.status === 'locked' ? 'The object is locked, and the template does not let you unlock it.' : 'You may only unlock this object, and it is not locked.' };
}
