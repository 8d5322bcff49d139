import { type CardOptions, serve, type Serving } from '../../src/http/index.ts';
import type { AgentCapabilities } from '../../src/protocol/index.ts';
import { httpsOrLoopbackPolicy, PushDispatcher } from '../../src/push/index.ts';
import { openStore } from '../../src/store/index.ts';
import { taskAt } from '../../src/tasks/index.ts';
import { conformanceAgent, type ConformanceAgentOptions } from './agent.ts';
import { callerOf, requireAuthority } from './callers.ts';
import { type CardName, cards } from './cards.ts';

export interface StartOptions extends ConformanceAgentOptions {
  /** @default 'full' */
  readonly card?: CardName;
  /** @default 0, any free port */
  readonly port?: number;
  /** Whether every operation needs a token. The extended card always does. @default false */
  readonly requiresToken?: boolean;
  /** Shows the extended card to callers without a token, against the specification. @default false */
  readonly hasOpenExtendedCard?: boolean;
}

const tokenSecurity = {
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
} as const satisfies Partial<CardOptions>;

/** A server for the suites to be pointed at, with everything in memory. */
export async function startConformance(options: StartOptions = {}): Promise<Serving> {
  const { card = 'full', port = 0, requiresToken = false, hasOpenExtendedCard = false } = options;
  const capabilities: AgentCapabilities = cards[card];
  const store = await openStore({ type: 'memory' });
  const push = new PushDispatcher({
    store,
    replica: crypto.randomUUID(),
    // The suites receive on http://localhost, which nothing but a test should be allowed to name.
    policy: { ...httpsOrLoopbackPolicy, allowedNames: ['localhost'] },
    taskAt: async (taskId, sequence) =>
      taskAt(await store.readEvents(taskId, 0, sequence), sequence),
  });
  push.start();
  const serving: Serving = await serve(conformanceAgent(options), {
    port,
    store,
    streaming: capabilities.streaming === true,
    ...(capabilities.pushNotifications === true && { push }),
    card: {
      capabilities: { extensions: capabilities.extensions ?? [] },
      ...(requiresToken && tokenSecurity),
    },
    ...(capabilities.extendedAgentCard === true && {
      extendedCard: (caller) => {
        if (!hasOpenExtendedCard) requireAuthority(caller);
        return serving.router.cards.current;
      },
    }),
    authenticate: (request) => {
      const caller = callerOf(request);
      return requiresToken ? requireAuthority(caller) : caller;
    },
    // The 1.0 suite asks for the card without a version and takes no member that 1.0 has not.
    before: ({ headers }, _response, path) => {
      const isCard = path === '/.well-known/agent-card.json';
      if (isCard && options.profile !== '0.3') headers['a2a-version'] ??= '1.0';
      return false;
    },
    // The suites use one messageId for many messages of one conversation.
    messageCacheTtlMs: 0,
  });
  const close = async () => {
    await serving.close();
    await push.stop();
    await store.close();
  };
  return { ...serving, close, [Symbol.asyncDispose]: close };
}
