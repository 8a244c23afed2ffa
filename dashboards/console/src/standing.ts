/** The state of the service, as `/readyz` tells it. Reading it costs no one's limits. */

import type { Schemas } from '@kedge/sdk';
import { signal } from '@preact/signals';

export type Ready = Schemas['ReadyView'];

const INTERVAL_MS = 15_000;

/** The newest answer; null until there is one. */
export const ready = signal<Ready | null>(null);

/** Reads the state now. */
export async function readReady(): Promise<Ready> {
  // Not ready is an answer too: its body has the reason.
  const answer = await fetch('/readyz');
  const state = (await answer.json()) as Ready;
  if (typeof state.status !== 'string') throw new Error(`The server answered ${answer.status} without its state.`);
  ready.value = state;
  return state;
}

/** Reads the state now and then, while the page is visible. */
export function watchReady(): void {
  const read = (): void => {
    // An unreachable server shows in whatever the page asks it for.
    if (!document.hidden) readReady().catch(() => {});
  };
  read();
  setInterval(read, INTERVAL_MS);
  addEventListener('visibilitychange', read);
}
