import type {
  BindingCall,
  BindingChannel,
  BindingLimits,
  CallOperation,
  ChosenInterface,
  StreamOperation,
} from '../../client/index.ts';
import { LegateError, type Operation } from '../../protocol/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import { loadMethods, type RpcMethod } from '../methods.ts';
import { Statuses } from '../status.ts';
import { type ByteRequest, Connection } from './connection.ts';
import { endpointOf } from './endpoint.ts';
import type { GrpcTls } from './grpc-binding.ts';

/** The methods and error details that all connections share. */
export interface Services {
  readonly methods: readonly RpcMethod[];
  readonly statuses: Statuses;
}

export async function loadServices(): Promise<Services> {
  const [methods, statuses] = await Promise.all([loadMethods(), Statuses.load()]);
  return { methods, statuses };
}

export interface ChannelParts {
  readonly chosen: ChosenInterface;
  readonly limits: BindingLimits;
  readonly tls: GrpcTls;
  readonly policy: UrlPolicy | undefined;
  readonly services: Services;
}

/** A channel to one of the two services of one peer, with JSON requests and responses. */
export class GrpcChannel implements BindingChannel {
  readonly #chosen: ChosenInterface;
  readonly #methods: ReadonlyMap<Operation, RpcMethod>;
  readonly #connection: Connection;

  private constructor(
    chosen: ChosenInterface,
    methods: readonly RpcMethod[],
    connection: Connection,
  ) {
    const own = methods.filter(({ version }) => version === chosen.version);
    this.#chosen = chosen;
    this.#methods = new Map(own.map((method) => [method.operation, method]));
    this.#connection = connection;
  }

  static async open({ chosen, limits, tls, policy, services }: ChannelParts): Promise<GrpcChannel> {
    const { methods, statuses } = services;
    const endpoint = await endpointOf(chosen.url, policy);
    const isEncrypted = chosen.url.protocol === 'https:';
    const connection = new Connection({ endpoint, isEncrypted, tls, limits, statuses });
    return new GrpcChannel(chosen, methods, connection);
  }

  async call(operation: CallOperation, json: unknown, call: BindingCall): Promise<unknown> {
    const method = this.#method(operation);
    const request = this.#request(method, json);
    return decode(method, await this.#connection.call(request, call), request);
  }

  async stream(
    operation: StreamOperation,
    json: unknown,
    call: BindingCall,
  ): Promise<AsyncIterable<unknown>> {
    const method = this.#method(operation);
    const request = this.#request(method, json);
    const events = await this.#connection.stream(request, call);
    return (async function* () {
      for await (const bytes of events) yield decode(method, bytes, request);
    })();
  }

  close(): void {
    this.#connection.close();
  }

  #method(operation: Operation): RpcMethod {
    const method = this.#methods.get(operation);
    if (method !== undefined) return method;
    throw new LegateError(
      'UNSUPPORTED_OPERATION',
      `A2A ${this.#chosen.version} has no ${operation} over gRPC`,
    );
  }

  #request({ operation, version, path, request }: RpcMethod, json: unknown): ByteRequest {
    const isWrapped = operation === 'createTaskPushNotificationConfig' && version === '0.3';
    const target = `${operation} at ${this.#chosen.url.origin}`;
    try {
      const bytes = request.encode(
        isWrapped ? legacyCreate(json as { readonly name: string }) : json,
      );
      return { path, target, bytes };
    } catch (cause) {
      throw new LegateError(
        'INVALID_PARAMS',
        'the request cannot be encoded in protobuf; send it over JSON-RPC or HTTP+JSON',
        { cause },
      );
    }
  }
}

function decode({ response }: RpcMethod, bytes: Buffer, { target }: ByteRequest): unknown {
  try {
    return response.decode(bytes);
  } catch (cause) {
    throw new LegateError('PEER_INVALID', `${target} sent an invalid A2A response`, { cause });
  }
}

/** The 0.3 service expects the name of the task and the id of the configuration in separate fields. */
function legacyCreate(config: { readonly name: string }): object {
  const [, parent = '', configId = ''] =
    /^(tasks\/.*)\/pushNotificationConfigs\/([^/]*)$/s.exec(config.name) ?? [];
  return { parent, ...(configId !== '' && { configId }), config };
}
