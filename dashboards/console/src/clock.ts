/** The current time for relative times, renewed while the page is visible. */

import { signal } from '@preact/signals';

const INTERVAL_MS = 10_000;

/** The current time in milliseconds. */
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, INTERVAL_MS);
addEventListener('visibilitychange', () => {
  now.value = Date.now();
});
