// The operator's command that anchors, and where the embedded chain listens.

import { createConnection } from 'node:net';

/** Has the server anchor at once. */
export async function anchorNow(socketPath: string): Promise<void> {
  const socket = createConnection(socketPath);
  socket.setEncoding('utf8').write('{"command":"anchor_now"}\n');
  let text = '';
  for await (const piece of socket) {
    text += piece;
    if (text.includes('\n')) break;
  }
  socket.destroy();
  if (!(JSON.parse(text) as { ok: boolean }).ok) throw new Error(text);
}

/** The RPC that the server's greeting names. */
export function rpcOf(output: string): string {
  const [, url] = /--rpc (http:\S+)/.exec(output) ?? [];
  if (url === undefined) throw new Error(`no RPC in: ${output}`);
  return url;
}
