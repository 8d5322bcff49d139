import type { IncomingMessage } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import ipaddr from 'ipaddr.js';
import { LegateError } from '../protocol/index.ts';

/** Networks of recent addresses: one connection sends many requests from one address. */
const networks = new Map<string, string>();
const maxNetworks = 1_000;

/**
 * The network that limits count as one client: an IPv4 address, or the /64 network of an IPv6 address,
 * since one IPv6 host can use all addresses of that network.
 */
export function networkOf(address: string): string {
  const known = networks.get(address);
  if (known !== undefined) return known;
  const found = parseNetwork(address);
  if (networks.size >= maxNetworks) networks.clear();
  networks.set(address, found);
  return found;
}

function parseNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}

/** Unfinished request bodies use the whole memory budget of the process. */
export class BodyBudgetExceeded extends LegateError {
  constructor() {
    super('UNAVAILABLE', 'the memory budget for request bodies is used up; retry in a second', {
      retryAfter: 1,
    });
  }
}

/** A body that is being read. Dispose of it when the body is complete or abandoned. */
export interface BodyReading extends Disposable {
  /**
   * Charges received bytes to the budget of `limit` bytes that all bodies share. Returns false if this
   * body has to be refused.
   */
  charge(bytes: number, limit: number): boolean;
}

/**
 * Counts the bytes of all unfinished request bodies of the process.
 *
 * One client can use the whole budget while no other client needs it. When the budget is used up, the
 * client with the most bytes loses its largest body, so every client gets its share. Clients are
 * identified by their network (`networkOf`).
 */
export class BodyBudget {
  #held = 0;
  readonly #clients = new Map<string, Client>();

  /** Bytes held by unfinished bodies. */
  get held(): number {
    return this.#held;
  }

  /** `refuse` is called at most once, when the body has to make room for another client. */
  open(address: string, refuse: (error: BodyBudgetExceeded) => void): BodyReading {
    const network = networkOf(address);
    let client = this.#clients.get(network);
    if (client === undefined) this.#clients.set(network, (client = new Client()));
    const body: Body = { bytes: 0, refuse };
    const owner = client;
    owner.bodies.add(body);
    return {
      charge: (bytes, limit) => {
        if (!owner.bodies.has(body) || !this.#makeRoom(owner, bytes, limit)) return false;
        this.#held += bytes;
        owner.bytes += bytes;
        body.bytes += bytes;
        return true;
      },
      [Symbol.dispose]: () => {
        this.#release(owner, body);
        if (owner.bodies.size === 0 && this.#clients.get(network) === owner) {
          this.#clients.delete(network);
        }
      },
    };
  }

  #makeRoom(asking: Client, bytes: number, limit: number): boolean {
    while (this.#held + bytes > limit) {
      const most = this.#largestBesides(asking);
      if (most === undefined || most.bytes <= asking.bytes + bytes) return false;
      const victim = most.largestBody();
      this.#release(most, victim);
      victim.refuse(new BodyBudgetExceeded());
    }
    return true;
  }

  #largestBesides(asking: Client): Client | undefined {
    let most: Client | undefined;
    for (const client of this.#clients.values()) {
      if (client !== asking && client.bytes > (most?.bytes ?? 0)) most = client;
    }
    return most;
  }

  #release(client: Client, body: Body): void {
    if (!client.bodies.delete(body)) return;
    client.bytes -= body.bytes;
    this.#held -= body.bytes;
  }
}

interface Body {
  bytes: number;
  readonly refuse: (error: BodyBudgetExceeded) => void;
}

class Client {
  /** Bytes of all its bodies. */
  bytes = 0;
  readonly bodies = new Set<Body>();

  /** Requires that the client has a body. */
  largestBody(): Body {
    return [...this.bodies].reduce((most, body) => (body.bytes > most.bytes ? body : most));
  }
}

/** Limits of one request body, and of all unfinished bodies together. */
export interface BodyLimits {
  /** Largest request body, in bytes. @default 10 MiB */
  readonly maxBodyBytes: number;
  /** Time limit for the arrival of a body, in milliseconds. @default 30_000 */
  readonly bodyTimeoutMs: number;
  /**
   * Bytes of unfinished request bodies that the process holds at one time, over all servers and
   * clients. Beyond it the client with the most bytes gets 503 with `Retry-After`.
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

/** The body that a framework in front of the handler has parsed (`json()` of Express), as text. */
export function parsedBody(request: IncomingMessage): string | undefined {
  if (!('body' in request) || !(request.readableEnded || request.complete)) return undefined;
  const { body } = request;
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
}

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

/** Chunks below this size are copied into blocks: a buffer of its own costs more than its bytes. */
const smallChunk = 1_024;
const blockSize = 4_096;

/** The chunks of a body. Their cost is the memory that they occupy, not their size. */
class Chunks {
  readonly #declared: number;
  #buffers: Buffer<ArrayBuffer>[] = [];
  /** Free bytes of the last buffer, if it is a block for small chunks. */
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

  /** Most bodies are small and arrive in one chunk, which is not copied. */
  #isCopied({ length }: Buffer): boolean {
    return length < smallChunk && length !== this.#declared;
  }

  /** Truncates the last block to its used bytes. */
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

/** The error for a client that disconnected, which is not a failure of the server. */
function aborted(cause?: Error): LegateError {
  return new LegateError('INVALID_REQUEST', 'the request was aborted', { cause });
}

function tooLarge(maxBodyBytes: number): LegateError {
  return new LegateError(
    'PAYLOAD_TOO_LARGE',
    `the request body is larger than ${maxBodyBytes} bytes`,
  );
}

/** Reads the body of a response up to `maxBytes`. The rest of a longer body is not read. */
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
