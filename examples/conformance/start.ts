import { grpcChannel } from '../../src/grpc/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import type { AgentCapabilities } from '../../src/protocol/index.ts';
import { publicPolicy } from '../../src/push/index.ts';
import { conformanceAgent, type ConformanceAgentOptions } from './agent.ts';
import { conformanceAuth, neededScopes, type TokensFor } from './callers.ts';
import { type CardName, cards } from './cards.ts';

export interface StartOptions extends ConformanceAgentOptions {
  /** @default 'full' */
  readonly card?: CardName;
  /** @default 0, any free port */
  readonly port?: number;
  /** The gRPC port. @default 0, any free port */
  readonly grpcPort?: number;
  /** The operations that require a token. @default 'extended-card' */
  readonly tokensFor?: TokensFor;
  /** The edition of the specification whose error table is used. @default '1.0.1' */
  readonly errors?: '1.0.1' | '1.0.0';
}

/** A server for the suites, on every binding, with all data in memory. */
export function startConformance(options: StartOptions = {}): Promise<Serving> {
  const { card = 'full', port = 0, grpcPort = 0 } = options;
  const capabilities: AgentCapabilities = cards[card];
  const auth = conformanceAuth(options.tokensFor ?? 'extended-card');
  return serve(conformanceAgent(options), {
    port,
    auth,
    streaming: capabilities.streaming === true,
    ...(capabilities.pushNotifications === true && {
      // The webhook receivers of the suites are at http://localhost, which only tests should allow.
      push: { policy: { ...publicPolicy, allowedNames: ['localhost'] } },
    }),
    card: { capabilities: { extensions: capabilities.extensions ?? [] } },
    ...(capabilities.extendedAgentCard === true && {
      extendedCard: (caller, publicCard) => {
        auth.requireScopes(caller, neededScopes);
        return publicCard;
      },
    }),
    ...(options.errors !== undefined && { errorProfile: options.errors }),
    // The 1.0 suite requests the card without a version and rejects members that 1.0 doesn't have.
    unversionedCard: options.profile === '0.3' ? 'superset' : '1.0',
    // The suites use one messageId for many messages of one conversation.
    messageCacheTtlMs: 0,
    channels: [
      grpcChannel({
        port: grpcPort,
        // The 0.3 suite reads the URL of every interface as an http one.
        ...(options.profile === '0.3' && grpcPort > 0 && { url: `http://localhost:${grpcPort}` }),
      }),
    ],
  });
}

/** The same agent on a server with defaults: no push, no extended card, the card of both versions. */
export function startPlain(options: StartOptions = {}): Promise<Serving> {
  const { port = 0, grpcPort = 0 } = options;
  return serve(conformanceAgent(options), { port, channels: [grpcChannel({ port: grpcPort })] });
}
