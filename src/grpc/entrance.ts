import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import type { Caller } from '../agents/index.ts';
import { isLocalRequest, tlsPeer, type TlsPeer } from '../auth/index.ts';
import { LegateError, toLegateError } from '../protocol/index.ts';
import { admit, authenticate, type Service } from '../service/index.ts';
import type { CallStatus } from './status.ts';

/** A call that may be read and answered. Dispose of it once it is. */
export interface Admission extends Disposable {
  readonly caller: Caller;
  /** A program on this machine called, and no proxy forwarded it. */
  readonly isLocal: () => boolean;
  readonly headers: ReturnType<typeof headersOf>;
  /** The address of the other end of the connection. */
  readonly address: string;
}

/**
 * Establishes who calls, and whether the caller has a place, before anything of the request is read:
 * until then the connection's window is all that an unknown caller can fill. A request that does
 * not arrive in time is refused.
 *
 * A call is **waiting** until its caller is admitted, then **arriving** until its request is whole,
 * then **taken** by the one who answers it, who gives the place back. A call that ends before it is
 * taken gives it back by itself.
 */
export class Entrance {
  readonly #service: Service;
  readonly #fail: (thrown: unknown) => CallStatus;
  readonly #arrivalTimeoutMs: number;
  readonly #admitted = new WeakMap<Metadata, Admission>();

  constructor(options: {
    readonly service: Service;
    readonly fail: (thrown: unknown) => CallStatus;
    /** Longest time a request may take to arrive, in milliseconds. */
    readonly arrivalTimeoutMs: number;
  }) {
    this.#service = options.service;
    this.#fail = options.fail;
    this.#arrivalTimeoutMs = options.arrivalTimeoutMs;
  }

  readonly interceptor: ServerInterceptor = ({ path }, call) => {
    let timer: NodeJS.Timeout | undefined;
    let received: Metadata | undefined;
    let isOver = false;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            received = metadata;
            timer = setTimeout(() => call.sendStatus(this.#fail(late())), this.#arrivalTimeoutMs);
            this.#admit(call, metadata, path)
              .then((admission) => {
                if (isOver) return admission[Symbol.dispose]();
                this.#admitted.set(metadata, admission);
                return proceed(metadata);
              })
              .catch((error: unknown) => call.sendStatus(this.#fail(error)));
          },
          onReceiveHalfClose: (proceed) => {
            clearTimeout(timer);
            proceed();
          },
          onCancel: () => {
            isOver = true;
            clearTimeout(timer);
            if (received === undefined) return;
            this.#admitted.get(received)?.[Symbol.dispose]();
            this.#admitted.delete(received);
          },
        }),
    });
  };

  /** The admission of a call whose request is there; the taker disposes of it. */
  take(metadata: Metadata): Admission {
    const admission = this.#admitted.get(metadata);
    if (admission === undefined) throw new TypeError('the call did not come by the entrance');
    this.#admitted.delete(metadata);
    return admission;
  }

  async #admit(
    call: ServerInterceptingCallInterface,
    metadata: Metadata,
    what: string,
  ): Promise<Admission> {
    const peer = peerOf(call);
    const address = call.getConnectionInfo().remoteAddress ?? '';
    const headers = headersOf(metadata);
    let caller: Caller | undefined;
    try {
      caller = await authenticate(this.#service, address, () => ({
        headers,
        ...(peer !== undefined && { tlsPeer: peer }),
      }));
      const permit = await admit(this.#service, caller, address);
      const isLocal = (): boolean =>
        isLocalRequest({
          headers: { ...headers, host: call.getHost() },
          socket: { remoteAddress: address },
          httpVersion: '2.0',
        });
      const dispose = (): void => permit[Symbol.dispose]();
      return { caller, address, headers, isLocal, [Symbol.dispose]: dispose };
    } catch (thrown) {
      this.#service.audit.denied(toLegateError(thrown), { address, what, caller });
      throw thrown;
    }
  }
}

function late(): LegateError {
  return new LegateError('REQUEST_TIMEOUT', 'the request did not arrive in time');
}

/** The client certificate, if the connection proved one against the configured authorities. */
function peerOf(call: ServerInterceptingCallInterface): TlsPeer | undefined {
  const { sslPeerCertificate: certificate } = call.getAuthContext();
  if (certificate === undefined) return undefined;
  const socket = { authorized: true, getPeerCertificate: () => certificate };
  return tlsPeer(socket as unknown as Parameters<typeof tlsPeer>[0]);
}

/** Metadata as HTTP headers, for those who read headers. Binary values are none. */
function headersOf(metadata: Metadata): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    const texts = values.filter((value) => typeof value === 'string');
    const [first] = texts;
    if (first !== undefined) headers[name] = texts.length === 1 ? first : texts;
  }
  return headers;
}
