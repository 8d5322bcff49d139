import type { IncomingMessage } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { LegateError } from '../protocol/index.ts';
import { BodyBudget, BodyBudgetExceeded } from './body-budget.ts';

/** Bounds of one request body, and of all that are being read. */
export interface BodyLimits {
  /** Largest request body, in bytes. @default 10 MiB */
  readonly maxBodyBytes: number;
  /** Longest time a body may take to arrive, in milliseconds. @default 30_000 */
  readonly bodyTimeoutMs: number;
  /**
   * Bytes of unfinished request bodies that the process holds at one time, over all servers and
   * clients. Beyond it the client that holds the most is answered with 503 and `Retry-After`.
   * @default a quarter of the heap limit of V8
   */
  readonly maxUnfinishedBodyBytes: number;
}

export const defaultBodyLimits: BodyLimits = {
  maxBodyBytes: 10 * 1024 * 1024,
  bodyTimeoutMs: 30_000,
  maxUnfinishedBodyBytes: Math.floor(getHeapStatistics().heap_size_limit / 4),
};

const processBudget = new BodyBudget();

/**
 * Reads a whole request body, bounded in size, time and by the budget that all bodies of the process
 * share.
 */
export function readBytes(
  request: IncomingMessage,
  { maxBodyBytes, bodyTimeoutMs, maxUnfinishedBodyBytes }: BodyLimits = defaultBodyLimits,
  budget: BodyBudget = processBudget,
): Promise<Buffer<ArrayBuffer>> {
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
  if (declared > maxBodyBytes) return Promise.reject(tooLarge(maxBodyBytes));
  return new Promise((resolve, reject) => {
    const chunks = new Chunks(declared);
    let isOver = false;
    const leave = (): void => {
      isOver = true;
      clearTimeout(timer);
      reading[Symbol.dispose]();
    };
    const stop = (error: Error): void => {
      if (isOver) return;
      leave();
      request.removeListener('data', onData);
      chunks.clear();
      // The rest is discarded, so that a client that is still sending can read the response.
      request.resume();
      reject(error);
    };
    const reading = budget.open(request.socket.remoteAddress ?? '', stop);
    const onData = (chunk: Buffer<ArrayBuffer>): void => {
      if (chunks.size + chunk.length > maxBodyBytes) return stop(tooLarge(maxBodyBytes));
      if (!reading.charge(chunks.costOf(chunk), maxUnfinishedBodyBytes)) {
        return stop(new BodyBudgetExceeded());
      }
      chunks.append(chunk);
    };
    const timer = setTimeout(() => {
      stop(new LegateError('REQUEST_TIMEOUT', 'the request body did not arrive in time'));
    }, bodyTimeoutMs);
    request.on('data', onData);
    request.on('end', () => {
      if (isOver) return;
      leave();
      resolve(chunks.toBuffer());
    });
    request.on('error', (cause) => stop(aborted(cause)));
    request.on('close', () => {
      if (!request.complete) stop(aborted());
    });
    if (request.destroyed && !request.complete) stop(aborted());
  });
}

/** Chunks below this size are copied together: each would cost more memory than its bytes. */
const smallChunk = 1_024;
const blockSize = 4_096;

/** The chunks of a body. What they cost is counted by the memory they take, not by their size. */
class Chunks {
  readonly #declared: number;
  #buffers: Buffer<ArrayBuffer>[] = [];
  /** Bytes that are free in the last buffer, where it is a block for small chunks. */
  #free = 0;
  size = 0;

  /** `declared`: the content length; 0 where it is unknown. */
  constructor(declared: number) {
    this.#declared = declared;
  }

  costOf(chunk: Buffer): number {
    if (!this.#isCopied(chunk)) return chunk.length;
    return chunk.length <= this.#free ? 0 : blockSize;
  }

  append(chunk: Buffer<ArrayBuffer>): void {
    this.size += chunk.length;
    if (!this.#isCopied(chunk)) {
      this.#trim();
      this.#buffers.push(chunk);
      return;
    }
    if (chunk.length > this.#free) {
      this.#trim();
      this.#buffers.push(Buffer.allocUnsafeSlow(blockSize));
      this.#free = blockSize;
    }
    const block = this.#buffers.at(-1);
    block?.set(chunk, blockSize - this.#free);
    this.#free -= chunk.length;
  }

  /** Most bodies are small and come in one chunk, which is not copied. */
  #isCopied({ length }: Buffer): boolean {
    return length < smallChunk && length !== this.#declared;
  }

  /** Cuts off what is not used of the last block. */
  #trim(): void {
    const block = this.#free > 0 ? this.#buffers.pop() : undefined;
    if (block !== undefined) this.#buffers.push(block.subarray(0, blockSize - this.#free));
    this.#free = 0;
  }

  toBuffer(): Buffer<ArrayBuffer> {
    this.#trim();
    const [only] = this.#buffers;
    return this.#buffers.length === 1 && only !== undefined ? only : Buffer.concat(this.#buffers);
  }

  clear(): void {
    this.#buffers = [];
  }
}

/** The client broke off: no failure of the server, whatever the connection calls it. */
function aborted(cause?: Error): LegateError {
  return new LegateError('INVALID_REQUEST', 'the request was broken off', { cause });
}

function tooLarge(maxBodyBytes: number): LegateError {
  return new LegateError(
    'PAYLOAD_TOO_LARGE',
    `the request body is larger than ${maxBodyBytes} bytes`,
  );
}

/** The body of a response, read up to so many bytes. Of a longer one the rest is not read. */
export async function readBodyOf(
  response: Response,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    // Leaving the loop cancels the body, and with it the connection.
    if (size > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: size > maxBytes };
}
