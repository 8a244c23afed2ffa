/** Questions to the worker, with a time limit. */

import type { Question, Report } from './work';

/** Limit on the time of a check without a report. A claim takes a second or two, a large export longer. */
const TIME_MS_MAX = 30_000;
const EXPORT_MS_MAX = 10 * 60_000;

/** Starts a check in a worker. Returns a function that cancels it. */
export function ask(question: Question, report: (report: Report) => void): () => void {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
  let timer: ReturnType<typeof setTimeout>;
  const end = (): void => {
    clearTimeout(timer);
    worker.terminate();
  };
  const limit = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      end();
      report({ refused: `The check took more than ${ms / 1000} s and was ended: no honest file takes that long.` });
    }, ms);
  };
  limit(TIME_MS_MAX);
  worker.onmessage = ({ data }: MessageEvent<Report>): void => {
    if ('shown' in data || 'refused' in data) end();
    else if ('kind' in data && data.kind === 'export') limit(EXPORT_MS_MAX);
    report(data);
  };
  worker.onerror = (event): void => {
    end();
    report({ refused: `The check failed: ${event.message || 'its script could not be loaded'}.` });
  };
  worker.postMessage(question);
  return end;
}
