import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { LegateError } from '../protocol/index.ts';

/** Options of a handler of web requests. */
export interface FetchOptions {
  /** The path below which the handler is mounted, removed from the paths of requests. @default '' */
  readonly basePath?: string;
}

/**
 * Converts a handler of `node:http` to a handler of web requests, for hosts that use those: the
 * opposite of `toNodeHandler`. The promise resolves when the handler sends its headers. A caller that
 * disconnects (`request.signal`, or a cancelled body) closes the handler's response. The handler writes
 * the body no faster than the host reads it.
 *
 * `host` is the argument that the host passes after the request. Deno and Bun provide the address of the
 * caller with it. On other hosts the address is unknown, and no request counts as local.
 */
export function toFetchHandler(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  { basePath = '' }: FetchOptions = {},
): (request: Request, host?: unknown) => Promise<Response> {
  return (request, host) =>
    new Promise((resolve, reject) => {
      const incoming = new WebRequest(request, addressOf(request, host), basePath);
      const outgoing = new WebResponse(incoming, resolve);
      const leave = (): void => {
        incoming.destroy();
        outgoing.destroy();
      };
      outgoing.once('close', () => {
        request.signal.removeEventListener('abort', leave);
        // Has no effect if the headers were sent.
        reject(new LegateError('INVALID_REQUEST', 'the request was aborted'));
      });
      if (request.signal.aborted) leave();
      else request.signal.addEventListener('abort', leave, { once: true });
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they have what handlers use of node:http
      handle(incoming as Readable as IncomingMessage, outgoing as Writable as ServerResponse);
    });
}

/** The remote address, as Deno (`remoteAddr`) and Bun (`requestIP`) provide it. */
function addressOf(request: Request, host: unknown): string | undefined {
  if (typeof host !== 'object' || host === null) return undefined;
  if ('remoteAddr' in host) return textIn(host.remoteAddr, 'hostname');
  if (!('requestIP' in host) || typeof host.requestIP !== 'function') return undefined;
  const found: unknown = host.requestIP(request);
  return textIn(found, 'address');
}

function textIn(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found: unknown = Reflect.get(value, name);
  return typeof found === 'string' ? found : undefined;
}

/** The part of `IncomingMessage` that handlers use, read from a web request. */
class WebRequest extends Readable {
  readonly method: string;
  url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly httpVersion = '1.1';
  readonly socket: {
    readonly remoteAddress: string | undefined;
    readonly destroy: () => void;
  };
  /** Whether the body was read to its end. */
  complete: boolean;
  readonly #body: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(request: Request, address: string | undefined, basePath: string) {
    super();
    const { host, pathname, search } = new URL(request.url);
    const isBelow = pathname === basePath || pathname.startsWith(`${basePath}/`);
    const path = basePath !== '' && isBelow ? pathname.slice(basePath.length) : pathname;
    this.method = request.method;
    this.url = `${path === '' ? '/' : path}${search}`;
    const headers = Object.fromEntries(request.headers);
    this.headers = { host, ...headers };
    this.rawHeaders = Object.entries(headers).flat();
    this.socket = { remoteAddress: address, destroy: () => this.destroy() };
    this.#body = request.body?.getReader();
    this.complete = this.#body === undefined;
    // The readers of the body handle its errors.
    this.on('error', () => undefined);
  }

  get headersDistinct(): NodeJS.Dict<string[]> {
    const distinct: NodeJS.Dict<string[]> = {};
    for (const [name, value] of Object.entries(this.headers)) {
      if (typeof value === 'string') distinct[name] = [value];
    }
    return distinct;
  }

  override _read(): void {
    const reading = this.#body?.read() ?? Promise.resolve({ done: true, value: undefined });
    reading.then(
      ({ done, value }) => {
        this.complete ||= done;
        this.push(done || value === undefined ? null : Buffer.from(value));
      },
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(reason: Error | null, done: (error?: Error | null) => void): void {
    // Rejects if the body has failed. Its reader handles that error.
    if (!this.complete) this.#body?.cancel().catch(() => undefined);
    done(reason);
  }
}

/** Statuses whose responses have no body. */
const bodiless = new Set([101, 204, 205, 304]);

type HeaderValue = number | string | readonly string[];

/** The part of `ServerResponse` that handlers use. Written data becomes the body of a `Response`. */
class WebResponse extends Writable {
  readonly req: WebRequest;
  statusCode = 200;
  headersSent = false;
  readonly #headers = new Headers();
  readonly #send: (response: Response) => void;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Continues with the next write once the host has read the last one. */
  #proceed: (() => void) | undefined;

  constructor(request: WebRequest, send: (response: Response) => void) {
    super({ decodeStrings: true });
    this.req = request;
    this.#send = send;
    this.on('error', () => undefined);
  }

  setHeader(name: string, value: HeaderValue): this {
    this.#headers.delete(name);
    for (const each of typeof value === 'object' ? value : [String(value)]) {
      this.#headers.append(name, each);
    }
    return this;
  }

  getHeader(name: string): string | undefined {
    return this.#headers.get(name) ?? undefined;
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name);
  }

  removeHeader(name: string): void {
    this.#headers.delete(name);
  }

  writeHead(status: number, headers: Readonly<Record<string, HeaderValue>> = {}): this {
    this.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    this.headersSent = true;
    return this;
  }

  /** Sends the headers, for a handler that has no data to write yet. */
  flushHeaders(): void {
    this.headersSent = true;
    if (this.#isSent || this.destroyed) return;
    this.#isSent = true;
    // The host manages the connection.
    this.#headers.delete('connection');
    const hasBody = this.req.method !== 'HEAD' && !bodiless.has(this.statusCode);
    const body = hasBody
      ? new ReadableStream<Uint8Array>({
          start: (controller) => void (this.#body = controller),
          pull: () => this.#resume(),
          cancel: () => void this.destroy(),
        })
      : null;
    this.#send(new Response(body, { status: this.statusCode, headers: this.#headers }));
  }
  #isSent = false;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.flushHeaders();
    if (this.#body === undefined) return done();
    this.#body.enqueue(chunk);
    if ((this.#body.desiredSize ?? 0) > 0) return done();
    this.#proceed = done;
    return undefined;
  }

  override _final(done: () => void): void {
    this.flushHeaders();
    this.#body?.close();
    this.#body = undefined;
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#body?.error(error ?? new Error('the connection was closed'));
    this.#body = undefined;
    this.#resume();
    done(error);
  }

  #resume(): void {
    const proceed = this.#proceed;
    this.#proceed = undefined;
    proceed?.();
  }
}
