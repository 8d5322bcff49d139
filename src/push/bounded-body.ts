import type { Readable } from 'node:stream';

/**
 * Reads a body to its end and keeps nothing, so that the connection can be used again; a body beyond
 * the bound ends the connection instead. Never rejects: the status was the answer.
 */
export async function discardBody(body: Readable, maxBytes: number): Promise<void> {
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxBytes) break;
    }
  } catch {
    // The body broke off; whoever sent it has answered already.
    body.destroy();
  }
}
