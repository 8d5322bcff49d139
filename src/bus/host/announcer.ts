import type { Agent } from '../../agents/index.ts';
import { CardSigner, type CardSigningKeys } from '../../auth/index.ts';
import type { AgentCard } from '../../protocol/index.ts';
import { type Scheduler, systemScheduler, type Timer } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { repeat } from '../../time/index.ts';
import { busCard, headerNames, presenceMark, Sender } from '../exchange.ts';
import { checkBusName } from '../transport/checks.ts';
import { topics } from '../transport/topics.ts';
import type { HostOptions } from './host.ts';

interface Announced {
  readonly sender: Sender;
  readonly card: AgentCard;
  /** The keys that sign the card, for directories that accept signed cards only. */
  readonly cardKeys: CardSigningKeys | undefined;
  readonly scheduler: Scheduler;
}

/** Announces an agent, and returns a function that announces it again. */
async function announce(announced: Announced): Promise<(presence?: 'gone') => Promise<void>> {
  const { sender, card, cardKeys, scheduler } = announced;
  const signer = cardKeys && new CardSigner(cardKeys);
  const send = async (presence?: 'gone'): Promise<void> =>
    sender.send(topics.discovery, {
      type: 'announce',
      body: JSON.stringify((await signer?.sign(card)) ?? card),
      correlationId: presenceMark(presence === 'gone', scheduler.now()),
      persistent: false,
      headers: presence === undefined ? {} : { [headerNames.presence]: presence },
    });
  await send();
  return send;
}

/** The minimum time between answers to queries, in milliseconds: several queries share one answer. */
const queryPauseMs = 1_000;

/** An agent that announces itself. */
interface Announcing {
  /** Answers a query: announces the agent now, at most once per second. */
  again(): void;
  /** Announces the departure of the agent. */
  stop(): Promise<void>;
}

/** Announces an agent periodically. */
export async function keepAnnouncing(
  options: Announced & { readonly intervalMs: number; readonly logger: Logger },
): Promise<Announcing> {
  const { intervalMs, scheduler, logger } = options;
  const onError = (error: unknown): void => logger.warn({ error }, 'bus.announce.failed');
  const send = await announce(options);
  const repeating = repeat(intervalMs, send, { timers: scheduler, onError });
  let pause: Timer | undefined;
  let isAsked = false;
  const again = (): void => {
    isAsked = true;
    if (pause !== undefined) return;
    isAsked = false;
    void send().catch(onError);
    pause = scheduler.after(queryPauseMs, () => {
      pause = undefined;
      if (isAsked) again();
    });
  };
  return {
    again,
    async stop() {
      repeating.stop();
      pause?.cancel();
      await send('gone');
    },
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
