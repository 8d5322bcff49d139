import { existsSync } from 'node:fs';
import { agent, completed } from '../agents/index.ts';
import { type ClientBinding, requestPreparer } from '../client/index.ts';
import { present } from '../config/index.ts';
import { type InspectedTarget, serve } from '../http/index.ts';
import type { AgentCard, AgentInterface } from '../protocol/index.ts';
import { calling } from './client/calling.ts';
import { CommandFailure } from './client/failure.ts';
import type { Session } from './client/session.ts';
import type { InspectCommandOptions } from './commands/assistants.ts';
import { exampleRequests } from './example-requests.ts';
import { createServerLogger } from './logger.ts';
import { run } from './run.ts';
import { greetUntilSignal, inspectorOptions } from './serving.ts';

/** Opens the inspector for a local agent, or for any agent by its URL. */
export async function inspect(target: string, options: InspectCommandOptions): Promise<void> {
  const isLocal = options.agentCard === undefined && existsSync(target);
  if (isLocal) {
    const { port = 5005, open, inspectToken, logLevel } = options;
    const listening = { port, interface: '127.0.0.1', jwtMethod: 'HS256', logLevel };
    return run(target, { ...listening, inspect: true, open, ...present({ inspectToken }) });
  }
  const operands = options.agentCard === undefined ? [target] : [];
  return calling(options, operands, (session) => inspectRemote(session, options));
}

/**
 * Serves the inspector for a remote agent. The page calls the agent through this server, which forwards
 * responses unchanged and validates nothing.
 */
async function inspectRemote(session: Session, options: InspectCommandOptions): Promise<void> {
  const reference = await session.resolve();
  const card = await cardOf(session);
  const auth = card === undefined ? session.challengedAuth() : await session.authFor(card);
  const headers = session.choices.serviceParameters;
  const [first] = card?.supportedInterfaces ?? [];
  const bindings = card === undefined ? [] : await session.bindingsOf(card);
  // gRPC interfaces have `host:port` instead of a URL.
  const addressOf = ({ protocolBinding, url: address }: AgentInterface): string => {
    const own = bindings.find(({ binding }) => binding === protocolBinding.toUpperCase());
    return own?.locate(address)?.href ?? address;
  };
  const url = reference.kind === 'url' ? reference.url : (first?.url ?? '');
  const target: InspectedTarget = {
    url,
    fetch: session.fetch,
    prepare: requestPreparer({ headers, ...present({ auth }) }),
    interfaces: card?.supportedInterfaces.map(addressOf) ?? [],
    ...present({ name: card?.name, card: reference.kind === 'file' ? card : undefined }),
  };
  // Never called: the page calls the remote agent, and this server has no A2A endpoints.
  const placeholder = agent({ name: card?.name ?? url, description: '' }, () => completed());
  await using serving = await serve(placeholder, {
    // The agent can use the default port.
    port: options.port ?? 0,
    a2a: false,
    inspect: {
      ...inspectorOptions(options),
      target,
      bindings: async () => (bindings.length > 0 ? bindings : otherBindings()),
    },
    store: { type: 'memory' },
    logger: createServerLogger(options.logLevel),
  });
  await greetUntilSignal(
    {
      what: `the inspector of ${card?.name ?? 'the agent'} (${url})`,
      url: serving.url,
      inspectorUrl: serving.inspectorUrl,
      hasCard: false,
      store: { type: 'memory' },
      requests: exampleRequests(url, { text: 'hello', hasCard: true, hasChannel: false }),
      [Symbol.asyncDispose]: () => serving.close(),
    },
    options,
  );
}

/** Bindings for other agents, which can offer gRPC. */
async function otherBindings(): Promise<readonly ClientBinding[]> {
  const { grpcBinding } = await import('../grpc/index.ts');
  return [grpcBinding()];
}

/** Undefined for an invalid card. The page shows it with its problems. */
async function cardOf(session: Session): Promise<AgentCard | undefined> {
  try {
    return (await session.fetchCard()).card;
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.code !== 'A2ACLI_ERR_CARD_INVALID') throw error;
    session.warn(`${error.message}; the inspector shows what is wrong with it`);
    return undefined;
  }
}
