import { existsSync } from 'node:fs';
import { remoteAgent } from '../agents/index.ts';
import { calling } from './client/calling.ts';
import type { Session } from './client/session.ts';
import type { InspectCommandOptions } from './commands/assistants.ts';
import { createLogger } from './logger.ts';
import { openPage } from './open-page.ts';
import { Progress } from './progress.ts';
import { agentGreeting, inspectorOptions, run } from './run.ts';
import { serveAgent } from './serve-module.ts';
import { untilSignal } from './signals.ts';

/** Opens the inspector for an agent: one of this machine, or any other by its address. */
export async function inspect(place: string, options: InspectCommandOptions): Promise<void> {
  const isLocal = options.agentCard === undefined && existsSync(place);
  if (isLocal) {
    await run(place, {
      port: options.port,
      interface: '127.0.0.1',
      jwtMethod: 'HS256',
      inspect: true,
      open: options.open,
      ...(options.inspectToken !== undefined && { inspectToken: options.inspectToken }),
      logLevel: options.logLevel,
    });
    return;
  }
  const operands = options.agentCard === undefined ? [place] : [];
  await calling(options, operands, (session) => inspectRemote(session, options));
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
    ...(auth !== undefined && { auth }),
  });
  await agent.connect({ signal: session.signal });
  progress.clear();
  await using served = await serveAgent(agent, {
    port: options.port,
    inspect: inspectorOptions(options),
    store: { type: 'memory' },
    logger: createLogger(options.logLevel),
  });
  console.log(agentGreeting(served));
  const { inspectorUrl } = served.serving;
  if (options.open && inspectorUrl !== undefined) openPage(inspectorUrl);
  await untilSignal();
}
