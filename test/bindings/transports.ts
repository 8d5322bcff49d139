import { BoundTransport } from '../../src/client/binding.ts';
import type { Transport } from '../../src/client/transport.ts';
import { Http } from '../../src/client/http.ts';
import { HttpTransport } from '../../src/client/http-transport.ts';
import { type BindingName, withDefaults } from '../../src/client/options.ts';
import { grpcBinding } from '../../src/grpc/index.ts';
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

const grpc = grpcBinding();

/** Speaks one binding and no other, tries everything once, and says what it is told to. */
export function transportOf(offered: AgentInterface): Transport & Disposable {
  const settings = withDefaults({ retry: false });
  const http = new Http(settings);
  const version = offered.protocolVersion as ProtocolVersion;
  const binding = offered.protocolBinding as BindingName;
  const url = binding === 'GRPC' ? grpc.locate(offered.url) : new URL(offered.url);
  if (url === undefined) throw new Error(`${offered.url} is not a URL`);
  const chosen = { interface: offered, binding, version, url };
  const rest = version === '1.0' ? v1 : v03Rest;
  switch (binding) {
    case 'JSONRPC':
      return closing(new HttpTransport(chosen, version === '1.0' ? v1 : v03, http, []));
    case 'HTTP+JSON':
      return closing(new HttpTransport(chosen, rest, http, []));
    default:
      return closing(new BoundTransport(chosen, rest, grpc.open(chosen, settings), http, []));
  }
}

function closing(transport: Transport): Transport & Disposable {
  return Object.assign(transport, { [Symbol.dispose]: () => transport.close?.() });
}
