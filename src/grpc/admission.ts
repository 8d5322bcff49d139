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

/** An admitted call. The handler disposes of it after the response. */
export interface AdmittedCall extends Disposable {
  readonly caller: Caller;
  /** Whether a program on this machine called directly, not through a proxy. */
  readonly isLocal: () => boolean;
  readonly headers: ReturnType<typeof headersOf>;
  /** The remote address of the connection. */
  readonly address: string;
}

/**
 * Authenticates callers and acquires their permits before the request is read. Until then an unknown
 * caller can fill at most the flow-control window of its connection. A request that does not arrive in
 * time is refused.
 *
 * A call is **waiting** until its caller is admitted, then **arriving** until its request is complete,
 * then **taken** by its handler, which releases the permit. The interceptor releases the permit of a call
 * that ends before it is taken.
 */
export class CallAdmission {
  readonly #service: Service;
  readonly #fail: (thrown: unknown) => CallStatus;
  readonly #arrivalTimeoutMs: number;
  readonly #admitted = new WeakMap<Metadata, AdmittedCall>();

  constructor(options: {
    readonly service: Service;
    readonly fail: (thrown: unknown) => CallStatus;
    /** Timeout for receiving a request, in milliseconds. */
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
              .then((admitted) => {
                if (isOver) return admitted[Symbol.dispose]();
                this.#admitted.set(metadata, admitted);
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

  /** Returns the admission of a call whose request has arrived. The handler disposes of it. */
  take(metadata: Metadata): AdmittedCall {
    const admitted = this.#admitted.get(metadata);
    if (admitted === undefined) throw new TypeError('the call was not admitted');
    this.#admitted.delete(metadata);
    return admitted;
  }

  async #admit(
    call: ServerInterceptingCallInterface,
    metadata: Metadata,
    what: string,
  ): Promise<AdmittedCall> {
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

/** The verified client certificate. */
function peerOf(call: ServerInterceptingCallInterface): TlsPeer | undefined {
  const { sslPeerCertificate: certificate } = call.getAuthContext();
  if (certificate === undefined) return undefined;
  return tlsPeer({ authorized: true, getPeerCertificate: () => certificate });
}

/** Converts metadata to HTTP headers, without binary values. */
function headersOf(metadata: Metadata): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    const texts = values.filter((value) => typeof value === 'string');
    const [first] = texts;
    if (first !== undefined) headers[name] = texts.length === 1 ? first : texts;
  }
  return headers;
}
