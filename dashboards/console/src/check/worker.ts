/** Entry point of the worker: one question, and the reports of its check. */

import { type Question, check } from './work';

addEventListener('message', ({ data }: MessageEvent<Question>) => {
  void check(data, (report) => postMessage(report));
});
