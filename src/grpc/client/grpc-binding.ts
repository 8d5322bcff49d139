import type { ClientBinding } from '../../client/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import { locate } from './address.ts';
import { LazyChannel } from './lazy-channel.ts';

/** For encrypted connections. All of it is PEM. */
export interface GrpcTls {
  /** Authorities to trust. @default those of Node */
  readonly ca?: string;
  /** Who we are to peers that ask for a client certificate. */
  readonly certificate?: string;
  readonly key?: string;
  /** Speaks to whoever answers, whatever certificate they show. For development. @default false */
  readonly dangerouslyAllowUnverified?: boolean;
}

/**
 * How agents are called over gRPC.
 * @example
 * const options: GrpcBindingOptions = { tls: { ca: await readFile('partners.pem', 'utf8') } };
 * const client = await connect('https://agent.example', { bindings: [grpcBinding(options)] });
 */
export interface GrpcBindingOptions {
  readonly tls?: GrpcTls;
  /** Which addresses may be called, as a guarded `fetch` has it for HTTP. @default any */
  readonly policy?: UrlPolicy | undefined;
}

/**
 * Lets a client, `remoteAgent` and sub agents call agents over gRPC, in 1.0 and 0.3. gRPC is loaded
 * with the first call. An address `host:port` is spoken to over TLS unless it is this machine's;
 * `grpc://` and `http://` are plain text, `grpcs://` and `https://` TLS.
 * @example const client = await connect(url, { bindings: [grpcBinding()], binding: 'GRPC' })
 */
export function grpcBinding({ tls = {}, policy }: GrpcBindingOptions = {}): ClientBinding {
  const load = once(async () => {
    const { GrpcChannel, loadServices } = await import('./channel.ts');
    return { GrpcChannel, services: await loadServices() };
  });
  return {
    binding: 'GRPC',
    locate,
    open: (chosen, limits) =>
      new LazyChannel(async () => {
        const { GrpcChannel, services } = await load();
        return GrpcChannel.open({ chosen, limits, tls, policy, services });
      }),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
