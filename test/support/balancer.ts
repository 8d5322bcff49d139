import {
  Agent,
  createServer,
  get,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** A replica behind the balancer, with its pool of keep-alive connections. */
class Upstream {
  readonly url: URL;
  readonly connections = new Agent({ keepAlive: true, maxFreeSockets: 64 });
  isHealthy = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(url: string, everyMs: number) {
    this.url = new URL(url);
    this.#check(everyMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.isHealthy = false;
    this.connections.destroy();
  }

  #check(everyMs: number): void {
    const done = (isHealthy: boolean): void => {
      if (this.#timer === undefined) return;
      this.isHealthy = isHealthy;
      this.#timer = setTimeout(() => this.#check(everyMs), everyMs);
    };
    this.#timer ??= setTimeout(() => undefined, 0);
    get(new URL('/ready', this.url), { agent: false }, (response) => {
      response.resume();
      response.once('end', () => done(response.statusCode === 200));
    }).once('error', () => done(false));
  }
}

/**
 * A load balancer as it stands in front of replicas: round robin over those whose `/ready` says yes,
 * over kept connections. It repeats nothing: a request that fails there fails here, with 502.
 */
export class Balancer implements AsyncDisposable {
  readonly #everyMs: number;
  readonly #upstreams = new Map<string, Upstream>();
  readonly #server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
  /** Why requests failed on their way to a replica. */
  readonly failures: string[] = [];
  #turn = 0;

  private constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** `everyMs`: how often each replica is asked whether it is ready. */
  static async start(everyMs: number): Promise<Balancer> {
    const balancer = new Balancer(everyMs);
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', resolve));
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  add(url: string): void {
    this.#upstreams.set(url, new Upstream(url, this.#everyMs));
  }

  remove(url: string): void {
    this.#upstreams.get(url)?.stop();
    this.#upstreams.delete(url);
  }

  isHealthy(url: string): boolean {
    return this.#upstreams.get(url)?.isHealthy === true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const url of this.#upstreams.keys()) this.remove(url);
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const healthy = [...this.#upstreams.values()].filter(({ isHealthy }) => isHealthy);
    const upstream = healthy[(this.#turn += 1) % healthy.length];
    if (upstream === undefined) return this.#fail(outgoing, 'no replica is ready');
    const { method = 'GET', url = '/', headers } = incoming;
    const { connection: _, ...passed } = headers;
    const { connections: agent } = upstream;
    const call = request(new URL(url, upstream.url), { method, headers: passed, agent });
    call.once('response', (response) => {
      const { connection: _hop, 'keep-alive': _keep, ...rest } = response.headers;
      outgoing.writeHead(response.statusCode ?? 502, rest);
      outgoing.flushHeaders();
      response.pipe(outgoing);
      response.once('error', () => outgoing.destroy());
      outgoing.once('close', () => response.destroy());
    });
    call.once('error', (error: NodeJS.ErrnoException) => {
      this.#fail(outgoing, `${method} ${url}: ${error.code ?? error.message}`);
    });
    incoming.pipe(call);
  }

  #fail(outgoing: ServerResponse, why: string): void {
    this.failures.push(why);
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502).end(why);
  }
}
