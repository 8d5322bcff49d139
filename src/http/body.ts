import type { IncomingMessage } from 'node:http';
import { LegateError } from '../protocol/index.ts';
import type { HttpLimits } from './service.ts';

/**
 * The whole body as text, bounded in size and time. A body parsed by a framework before us (an
 * Express `json()` in front of the handler) is taken as it is.
 */
export function readBody(request: IncomingMessage, limits: HttpLimits): Promise<string> {
  const parsed = (request as IncomingMessage & { body?: unknown }).body;
  if (parsed !== undefined && (request.readableEnded || request.complete)) {
    return Promise.resolve(typeof parsed === 'string' ? parsed : JSON.stringify(parsed));
  }
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    return Promise.reject(
      new LegateError(
        'UNSUPPORTED_ENCODING',
        `content-encoding ${encoding} is not supported; send the body as it is`,
      ),
    );
  }
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limits.maxBodyBytes) return Promise.reject(tooLarge(limits));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const stop = (error: Error): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      request.removeListener('data', onData);
      // What still comes is thrown away, so that the answer reaches a client that is still sending.
      request.resume();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limits.maxBodyBytes) stop(tooLarge(limits));
      else chunks.push(chunk);
    };
    request.on('data', onData);
    request.on('end', () => {
      isOver = true;
      clearTimeout(timer);
      const [only] = chunks;
      resolve(
        chunks.length === 1 && only
          ? only.toString('utf8')
          : Buffer.concat(chunks).toString('utf8'),
      );
    });
    request.on('error', (cause) => stop(brokenOff(cause)));
    request.on('close', () => {
      if (!request.complete) stop(brokenOff());
    });
    timer = setTimeout(() => {
      stop(new LegateError('REQUEST_TIMEOUT', 'the request body did not arrive in time'));
    }, limits.bodyTimeoutMs);
    if (request.destroyed && !request.complete) stop(brokenOff());
  });
}

/** The caller's doing, and no failure of ours, whatever the connection calls it. */
function brokenOff(cause?: Error): LegateError {
  return new LegateError('INVALID_REQUEST', 'the request was broken off', { cause });
}

function tooLarge(limits: HttpLimits): LegateError {
  return new LegateError(
    'PAYLOAD_TOO_LARGE',
    `the request body is larger than ${limits.maxBodyBytes} bytes`,
  );
}
