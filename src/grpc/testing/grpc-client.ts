import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientReadableStream,
  credentials as channelCredentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Operation, ProtocolVersion } from '../../protocol/index.ts';
import { loadMethods, type RpcMethod } from '../methods.ts';
import { Statuses } from '../status.ts';

export interface GrpcClientOptions {
  /** `host:port` */
  readonly url: string;
  readonly version: ProtocolVersion;
  /** Sent with every call, after `a2a-version`. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** @default plain text */
  readonly credentials?: ChannelCredentials;
  readonly channelOptions?: ChannelOptions;
}

export interface GrpcCallOptions {
  /** Added to the client's; an empty value takes one away. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Told the metadata that the answer begins with. */
  readonly onMetadata?: (metadata: Metadata) => void;
}

/**
 * Calls one of the two services with JSON, as the version's dialect has it (REST's for 0.3). An error
 * with details is thrown as the `LegateError` they describe, any other as gRPC's own.
 */
export class GrpcClient implements Disposable {
  readonly #client: Client;
  readonly #methods: ReadonlyMap<Operation, RpcMethod>;
  readonly #statuses: Statuses;
  readonly #metadata: Readonly<Record<string, string>>;

  private constructor(
    client: Client,
    methods: ReadonlyMap<Operation, RpcMethod>,
    statuses: Statuses,
    metadata: Readonly<Record<string, string>>,
  ) {
    this.#client = client;
    this.#methods = methods;
    this.#statuses = statuses;
    this.#metadata = metadata;
  }

  static async connect(options: GrpcClientOptions): Promise<GrpcClient> {
    const { url, version, metadata, channelOptions } = options;
    const { credentials = channelCredentials.createInsecure() } = options;
    const [methods, statuses] = await Promise.all([loadMethods(), Statuses.load()]);
    const own = methods.filter((method) => method.version === version);
    // Tests send what a server must refuse, so the client itself has no bounds.
    const client = new Client(url, credentials, {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      ...channelOptions,
    });
    return new GrpcClient(
      client,
      new Map(own.map((method) => [method.operation, method])),
      statuses,
      { 'a2a-version': version, ...metadata },
    );
  }

  async call(operation: Operation, json: unknown, options?: GrpcCallOptions): Promise<unknown> {
    const { path, request, response } = this.#method(operation);
    return response.decode(await this.send(path, request.encode(json), options));
  }

  /** Sends bytes, whatever they are, to whatever method. */
  send(path: string, bytes: Buffer, options: GrpcCallOptions = {}): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest<Buffer, Buffer>(
        path,
        asBytes,
        asBytes,
        bytes,
        this.#metadataOf(options),
        deadlineOf(options),
        (error, answer) => {
          if (error !== null) reject(this.#errorOf(error));
          else resolve(answer ?? Buffer.alloc(0));
        },
      );
      if (options.onMetadata !== undefined) call.on('metadata', options.onMetadata);
      options.signal?.addEventListener('abort', () => call.cancel(), { once: true });
    });
  }

  async *stream(
    operation: Operation,
    json: unknown,
    options: GrpcCallOptions = {},
  ): AsyncGenerator<unknown, void> {
    const call = this.open(operation, json, options);
    try {
      for await (const bytes of call) yield this.decode(operation, bytes as Buffer);
    } catch (error) {
      throw this.#errorOf(error as ServiceError);
    } finally {
      call.cancel();
    }
  }

  /** The stream itself, for tests that read it in their own way, or not at all. */
  open(
    operation: Operation,
    json: unknown,
    options: GrpcCallOptions = {},
  ): ClientReadableStream<Buffer> {
    const { path, request } = this.#method(operation);
    const call = this.#client.makeServerStreamRequest<Buffer, Buffer>(
      path,
      asBytes,
      asBytes,
      request.encode(json),
      this.#metadataOf(options),
      deadlineOf(options),
    );
    if (options.onMetadata !== undefined) call.on('metadata', options.onMetadata);
    options.signal?.addEventListener('abort', () => call.cancel(), { once: true });
    return call;
  }

  decode(operation: Operation, bytes: Buffer): unknown {
    return this.#method(operation).response.decode(bytes);
  }

  encode(operation: Operation, json: unknown): Buffer {
    return this.#method(operation).request.encode(json);
  }

  pathOf(operation: Operation): string {
    return this.#method(operation).path;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  #method(operation: Operation): RpcMethod {
    const method = this.#methods.get(operation);
    if (method === undefined) throw new TypeError(`this service has no ${operation}`);
    return method;
  }

  #metadataOf(options: GrpcCallOptions): Metadata {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries({ ...this.#metadata, ...options.metadata })) {
      if (value !== '') metadata.set(name, value);
    }
    return metadata;
  }

  #errorOf(error: ServiceError): Error {
    return this.#statuses.read(error.metadata) ?? error;
  }
}

function deadlineOf({ deadlineMs }: GrpcCallOptions): { deadline?: number } {
  return deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
}

const asBytes = (bytes: Buffer): Buffer => bytes;
