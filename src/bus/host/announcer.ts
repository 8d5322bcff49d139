import type { Agent } from '../../agents/index.ts';
import { signCard } from '../../auth/index.ts';
import type { AgentCard } from '../../protocol/index.ts';
import type { SigningKey } from '../../push/index.ts';
import { type Scheduler, systemScheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { repeat } from '../../time/index.ts';
import { busCard, headerNames, presenceMark, Sender } from '../exchange.ts';
import { checkBusName } from '../transport/checks.ts';
import { topics } from '../transport/topics.ts';
import type { HostOptions } from './host.ts';

interface Announced {
  readonly sender: Sender;
  readonly card: AgentCard;
  /** Signs the card, for directories that accept signed cards only. */
  readonly cardKeys: readonly [SigningKey, ...SigningKey[]] | undefined;
  readonly scheduler: Scheduler;
}

/** Announces an agent, and returns the function that does so again. */
async function announce(announced: Announced): Promise<(presence?: 'gone') => Promise<void>> {
  const { sender, card, cardKeys, scheduler } = announced;
  const shown = cardKeys === undefined ? card : await signCard(card, { keys: cardKeys });
  const body = JSON.stringify(shown);
  const send = (presence?: 'gone'): Promise<void> =>
    sender.send(topics.discovery, {
      type: 'announce',
      body,
      correlationId: presenceMark(presence === 'gone', scheduler.now()),
      persistent: false,
      headers: presence === undefined ? {} : { [headerNames.presence]: presence },
    });
  await send();
  return send;
}

/** Announces an agent periodically. Returns the function that announces its end. */
export async function keepAnnouncing(
  options: Announced & { readonly intervalMs: number; readonly logger: Logger },
): Promise<() => Promise<void>> {
  const { intervalMs, scheduler, logger } = options;
  const send = await announce(options);
  const repeating = repeat(intervalMs, send, {
    timers: scheduler,
    onError: (error) => logger.warn({ error }, 'bus.announce.failed'),
  });
  return async () => {
    repeating.stop();
    await send('gone');
  };
}

/**
 * Announces an agent that is started on demand. Directories keep it for a day.
 * @example await announceOnce(researcher, { bus })
 */
export async function announceOnce(
  agent: Agent,
  options: Pick<HostOptions, 'bus' | 'name' | 'signer' | 'card' | 'cardKeys'>,
): Promise<void> {
  const { bus, signer, cardKeys } = options;
  const name = checkBusName(options.name ?? agent.name, 'the agent');
  const sender = new Sender({ bus, name, signer });
  const card = busCard(agent, { name, ...options.card });
  await announce({ sender, card, cardKeys, scheduler: systemScheduler });
}
