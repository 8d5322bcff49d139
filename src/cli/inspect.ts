import { existsSync } from 'node:fs';
import { remoteAgent } from '../agents/index.ts';
import { present } from '../config/index.ts';
import { calling } from './client/calling.ts';
import type { Session } from './client/session.ts';
import type { InspectCommandOptions } from './commands/assistants.ts';
import { createLogger } from './logger.ts';
import { Progress } from './progress.ts';
import { run } from './run.ts';
import { greetUntilSignal, inspectorOptions, serveAgent } from './serving.ts';

/** Opens the inspector for a local agent, or for any agent by its URL. */
export async function inspect(target: string, options: InspectCommandOptions): Promise<void> {
  const isLocal = options.agentCard === undefined && existsSync(target);
  if (isLocal) {
    const { port, open, inspectToken, logLevel } = options;
    const listening = { port, interface: '127.0.0.1', jwtMethod: 'HS256', logLevel };
    return run(target, { ...listening, inspect: true, open, ...present({ inspectToken }) });
  }
  const operands = options.agentCard === undefined ? [target] : [];
  return calling(options, operands, (session) => inspectRemote(session, options));
}

async function inspectRemote(session: Session, options: InspectCommandOptions): Promise<void> {
  const { card } = await session.fetchCard();
  using progress = new Progress('Connecting');
  const auth = await session.authFor(card);
  const agent = remoteAgent(card, {
    fetch: session.fetch,
    headers: session.choices.serviceParameters,
    extensions: session.choices.extensions,
    bindings: await session.bindingsOf(card),
    ...present({ auth }),
  });
  await agent.connect({ signal: session.signal });
  progress.clear();
  await using started = await serveAgent(agent, {
    port: options.port,
    inspect: inspectorOptions(options),
    store: { type: 'memory' },
    logger: createLogger(options.logLevel),
  });
  await greetUntilSignal(started, options);
}
