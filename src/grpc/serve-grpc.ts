import type { AgentCard, AgentInterface } from '../protocol/index.ts';
import type { Service } from '../service/index.ts';
import { type GrpcDoor, type GrpcOptions, openGrpc } from './open-grpc.ts';

export type ServeGrpcOptions = Omit<GrpcOptions, 'service'>;

/**
 * Opens a gRPC door beside the HTTP doors of a router, and lists it in the agent's card for as long as
 * it is open. Close it before the router.
 * @example
 * await using server = await serve(agent, { port: 8080 });
 * await using door = await serveGrpc(server.router, { port: 50051 });
 */
export async function serveGrpc(
  { service }: { readonly service: Service },
  options: ServeGrpcOptions = {},
): Promise<GrpcDoor> {
  const { cards } = service;
  const door = await openGrpc({ ...options, service });
  try {
    await cards.replace(listing(cards.current, door.interfaces));
  } catch (error) {
    await door.close({ graceMs: 0 });
    throw error;
  }
  const close: GrpcDoor['close'] = async (closing) => {
    try {
      await cards.replace(unlisting(cards.current, door.interfaces));
    } finally {
      await door.close(closing);
    }
  };
  return { ...door, close, [Symbol.asyncDispose]: () => close() };
}

/** 1.0 goes before 0.3, and neither before the HTTP interfaces of its version. */
function listing(card: AgentCard, added: readonly AgentInterface[]): AgentCard {
  const { signatures: _, supportedInterfaces: known, ...rest } = card;
  const isLegacy = ({ protocolVersion }: AgentInterface): boolean => protocolVersion === '0.3';
  const all = [...known, ...added];
  return {
    ...rest,
    supportedInterfaces: [...all.filter((item) => !isLegacy(item)), ...all.filter(isLegacy)],
  };
}

function unlisting(card: AgentCard, removed: readonly AgentInterface[]): AgentCard {
  const { signatures: _, supportedInterfaces, ...rest } = card;
  const isOurs = (item: AgentInterface): boolean =>
    removed.some(
      (ours) =>
        ours.url === item.url &&
        ours.protocolBinding === item.protocolBinding &&
        ours.protocolVersion === item.protocolVersion,
    );
  return { ...rest, supportedInterfaces: supportedInterfaces.filter((item) => !isOurs(item)) };
}
