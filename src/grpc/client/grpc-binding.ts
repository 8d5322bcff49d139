import type { BindingCall, BindingChannel, ClientBinding } from '../../client/index.ts';
import type { ClientTls } from '../../net/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import { until } from '../../time/index.ts';
import { locate } from './endpoint.ts';

/** TLS of connections, PEM. */
export interface GrpcTls {
  /** Certificate authorities to trust. @default those of Node */
  readonly ca?: string;
  /** The client certificate. */
  readonly certificate?: string;
  readonly key?: string;
  /** Accepts any certificate of the peer. For development. @default false */
  readonly dangerouslyAllowUnverified?: boolean;
}

/**
 * Options of the gRPC binding.
 * @example
 * const options: GrpcBindingOptions = { tls: { ca: await readFile('partners.pem', 'utf8') } };
 * const client = await connect('https://agent.example', { bindings: [grpcBinding(options)] });
 */
export interface GrpcBindingOptions {
  /** PEM texts, or the files of `clientTls`. Calls after a change of the files use the new ones. */
  readonly tls?: GrpcTls | ClientTls | undefined;
  /** The addresses that calls can reach, like the policy of a guarded `fetch` for HTTP. @default any */
  readonly policy?: UrlPolicy | undefined;
}

/**
 * Lets a client, `remoteAgent` and sub agents call agents over gRPC, in 1.0 and 0.3. The first call loads
 * grpc-js. Calls to `host:port` use TLS, except on loopback. `grpc://` and `http://` are plain text,
 * `grpcs://` and `https://` use TLS.
 * @example const client = await connect(url, { bindings: [grpcBinding()], binding: 'GRPC' })
 */
export function grpcBinding({ tls = {}, policy }: GrpcBindingOptions = {}): ClientBinding {
  const load = once(async () => {
    const { GrpcChannel, loadServices } = await import('./channel.ts');
    return { GrpcChannel, services: await loadServices() };
  });
  const current = async (): Promise<GrpcTls> => ('current' in tls ? tls.current() : tls);
  return {
    binding: 'GRPC',
    locate,
    open: (chosen, limits) =>
      new LazyChannel(async (material) => {
        const { GrpcChannel, services } = await load();
        return GrpcChannel.open({ chosen, limits, tls: material, policy, services });
      }, current),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/**
 * Opens a channel on the first call and keeps it until it is closed, its certificates change or it can't
 * reach the peer. The next call then opens another channel and resolves the peer's name again.
 */
export class LazyChannel implements BindingChannel {
  readonly #open: (tls: GrpcTls) => Promise<BindingChannel>;
  readonly #tls: () => Promise<GrpcTls>;
  #opened: { readonly tls: GrpcTls; readonly channel: Promise<BindingChannel> } | undefined;

  constructor(
    open: (tls: GrpcTls) => Promise<BindingChannel>,
    tls: () => Promise<GrpcTls> = async () => noTls,
  ) {
    this.#open = open;
    this.#tls = tls;
  }

  call(...request: Parameters<BindingChannel['call']>): Promise<unknown> {
    return this.#with(request[2], (channel) => channel.call(...request));
  }

  stream(...request: Parameters<BindingChannel['stream']>): Promise<AsyncIterable<unknown>> {
    return this.#with(request[2], (channel) => channel.stream(...request));
  }

  close(): void {
    const former = this.#opened;
    this.#opened = undefined;
    // The calls that waited for a failed channel have reported its error.
    former?.channel.then((channel) => channel.close()).catch(() => undefined);
  }

  async #with<T>(
    { signal }: BindingCall,
    use: (channel: BindingChannel) => Promise<T>,
  ): Promise<T> {
    const tls = await this.#tls();
    // A replaced channel closes after its last call.
    if (this.#opened?.tls !== tls) this.close();
    const opened = (this.#opened ??= { tls, channel: this.#open(tls) });
    try {
      return await use(await until(opened.channel, signal));
    } catch (error) {
      const isLost = error instanceof LegateError && error.code === 'PEER_UNREACHABLE';
      if (this.#opened === opened && isLost) this.close();
      throw error;
    }
  }
}

const noTls: GrpcTls = {};
