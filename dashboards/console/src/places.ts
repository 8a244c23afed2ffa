/** What the text of a search names without asking the server. */

import { isId, pageOf } from './pieces/text';

/** Something found. */
export interface Found {
  readonly kind: string;
  readonly title: string;
  readonly note: string;
  /** Path of its page. */
  readonly path: string;
}

/** A page of the menu. */
export interface Named {
  readonly path: string;
  readonly name: string;
}

const KINDS: Record<string, string> = {
  act: 'Action',
  anc: 'Anchor',
  bat: 'Batch',
  dsp: 'Dispute',
  fil: 'File',
  obj: 'Object',
  tpl: 'Template',
  whk: 'Webhook',
};

/** Ids of what has no page, and the page that lists it. */
const LISTED: Record<string, readonly [kind: string, path: string, page: string]> = {
  dlv: ['Delivery', '/webhooks', 'in the deliveries of its webhook'],
  evt: ['Event', '/events', 'among the live events'],
  key: ['API key', '/keys', 'among the API keys'],
  org: ['Organization', '/usage', 'shown with its usage, if it is yours'],
  var: ['Variation', '/templates', 'on the page of its template'],
  wal: ['Wallet', '/members', 'among the members'],
};

/** What a text names without asking the server: ids and pages. */
export function known(text: string, pages: readonly Named[]): Found[] {
  const asked = text.trim();
  const lower = asked.toLowerCase();
  if (lower === '') return [];
  const found: Found[] = [];
  if (isId(lower)) {
    const prefix = lower.slice(0, 3);
    const page = pageOf(lower);
    const listed = LISTED[prefix];
    if (page !== null) found.push({ kind: KINDS[prefix] ?? '', title: lower, note: 'Open its page', path: page.slice(1) });
    else if (listed !== undefined) found.push({ kind: listed[0], title: lower, note: listed[2], path: listed[1] });
  }
  const named = pages.filter(({ name }) => name.toLowerCase().includes(lower));
  return [...found, ...named.map(({ name, path }) => ({ kind: 'Page', title: name, note: '', path }))];
}
