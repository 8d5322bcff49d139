/** How long the rest of a body that nobody wants may still come, in milliseconds. */
const lingerMs = 2_000;

/**
 * Answers before the body has arrived leave it to be thrown away, so that honest clients can finish
 * and read the answer. One that goes on sending after that is cut off.
 */
export function limitUnreadBody(response: ServerResponse): void {
  const { req: request } = response;
  if (request.complete) return;
  response.once('finish', () => {
    if (request.complete) return;
    const timer = setTimeout(() => {
      if (!request.complete) request.socket.destroy();
    }, lingerMs).unref();
    request.once('close', () => clearTimeout(timer));
  });
}
import type { ServerResponse } from 'node:http';
