import type {
  CallOperation,
  Exchanges,
  Frame,
  StreamOperation,
  Transport,
  TransportCall,
  TransportStream,
} from '../../src/client/transport.ts';
import { Http } from '../../src/client/http.ts';
import { JsonRpcTransport } from '../../src/client/json-rpc.ts';
import { withDefaults } from '../../src/client/options.ts';
import { RestTransport } from '../../src/client/rest.ts';
import { type Wires, wiresOf } from '../../src/client/wires.ts';
import { GrpcClient } from '../../src/grpc/testing/grpc-client.ts';
import {
  type AgentInterface,
  type ProtocolBinding,
  type ProtocolVersion,
  v03,
  v03Rest,
  v1,
} from '../../src/protocol/index.ts';

/** One way to speak to an agent: each is called with the model, and answers with it. */
export interface Binding {
  readonly name: string;
  readonly protocolBinding: ProtocolBinding;
  readonly version: ProtocolVersion;
}

/** The first is what the others are compared with. */
export const bindings: readonly Binding[] = (['1.0', '0.3'] as const).flatMap((version) =>
  [['JSON-RPC', 'JSONRPC'] as const, ['REST', 'HTTP+JSON'] as const, ['gRPC', 'GRPC'] as const].map(
    ([name, protocolBinding]) => ({ name: `${name} ${version}`, protocolBinding, version }),
  ),
);

/** Speaks one binding and no other, tries everything once, and says what it is told to. */
export async function transportOf(offered: AgentInterface): Promise<Transport & Disposable> {
  const version = offered.protocolVersion as ProtocolVersion;
  if (offered.protocolBinding === 'GRPC') return GrpcTransport.connect(offered, version);
  const http = new Http(withDefaults({ retry: false }));
  const url = new URL(offered.url);
  const transport =
    offered.protocolBinding === 'JSONRPC'
      ? new JsonRpcTransport(
          { interface: offered, binding: 'JSONRPC', version, url },
          version === '1.0' ? v1 : v03,
          http,
          [],
        )
      : new RestTransport(
          { interface: offered, binding: 'HTTP+JSON', version, url },
          version === '1.0' ? v1 : v03Rest,
          http,
          [],
        );
  return Object.assign(transport, { [Symbol.dispose]: () => undefined });
}

class GrpcTransport implements Transport, Disposable {
  readonly interface: AgentInterface;
  readonly #client: GrpcClient;
  readonly #wires: Wires;

  private constructor(offered: AgentInterface, client: GrpcClient, wires: Wires) {
    this.interface = offered;
    this.#client = client;
    this.#wires = wires;
  }

  static async connect(offered: AgentInterface, version: ProtocolVersion): Promise<GrpcTransport> {
    const client = await GrpcClient.connect({ url: offered.url, version });
    return new GrpcTransport(offered, client, wiresOf(version === '1.0' ? v1 : v03Rest));
  }

  async call<O extends CallOperation>(
    operation: O,
    request: Exchanges[O][0],
    { headers, signal }: TransportCall,
  ): Promise<Exchanges[O][1]> {
    const { encode, decode } = this.#wires[operation];
    const json = this.#isLegacyCreate(operation)
      ? createRequest(request as Exchanges['createTaskPushNotificationConfig'][0], encode(request))
      : encode(request);
    const metadata = metadataOf(headers);
    return decode(await this.#client.call(operation, json, { metadata, signal }));
  }

  async stream<O extends StreamOperation>(
    operation: O,
    request: Exchanges[O][0],
    { headers, signal }: TransportStream,
  ): Promise<AsyncIterable<Frame>> {
    const { encode, decode } = this.#wires[operation];
    const metadata = metadataOf(headers);
    const events = this.#client.stream(operation, encode(request), { metadata, signal });
    // As over HTTP, what fails before the first event is an error and no stream.
    const first = await events.next();
    return (async function* () {
      try {
        for (let next = first; next.done !== true; next = await events.next()) {
          yield { response: decode(next.value) };
        }
      } finally {
        await events.return();
      }
    })();
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }

  #isLegacyCreate(operation: CallOperation): boolean {
    return (
      operation === 'createTaskPushNotificationConfig' && this.interface.protocolVersion === '0.3'
    );
  }
}

/** The 0.3 service wants the configuration beside the name of its task. */
function createRequest(
  { taskId = '', id }: Exchanges['createTaskPushNotificationConfig'][0],
  config: unknown,
): object {
  return { parent: `tasks/${taskId}`, ...(id !== undefined && { configId: id }), config };
}

function metadataOf(headers: TransportCall['headers']): Record<string, string> {
  const entries = Object.entries(headers ?? {});
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}
