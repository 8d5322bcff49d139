import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import type { Caller } from '../agents/index.ts';
import { isLocalRequest, tlsPeer, type TlsPeer } from '../auth/index.ts';
import type { Service } from '../http/index.ts';
import { LegateError, toLegateError } from '../protocol/index.ts';
import { headersOf } from './grpc-call.ts';
import type { CallStatus } from './status.ts';

/** A call that may be read and answered. Dispose of it once it is. */
export interface Admission extends Disposable {
  readonly caller: Caller;
  /** A program on this machine called, and no proxy forwarded it. */
  readonly isLocal: boolean;
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
    const { auth, callerLimits, load, audit } = this.#service;
    const peer = peerOf(call);
    const address = call.getConnectionInfo().remoteAddress ?? '';
    const headers = headersOf(metadata);
    let caller: Caller | undefined;
    try {
      caller = await callerLimits.authentication(address, () =>
        auth.authenticate({
          headers,
          ...(peer !== undefined && { tlsPeer: peer }),
        }),
      );
      load.note();
      const place = await callerLimits.request(caller, address);
      const isLocal = isLocalRequest({
        headers: { ...headers, host: call.getHost() },
        socket: { remoteAddress: address },
        httpVersion: '2.0',
      });
      return { caller, address, isLocal, [Symbol.dispose]: () => place[Symbol.dispose]() };
    } catch (thrown) {
      audit.denied(toLegateError(thrown), { address, what, caller });
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
