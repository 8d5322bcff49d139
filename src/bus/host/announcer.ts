import type { Agent } from '../../agents/index.ts';
import { signCard } from '../../auth/index.ts';
import type { AgentCard } from '../../protocol/index.ts';
import type { SigningKey } from '../../push/index.ts';
import { type Scheduler, systemScheduler, type Timer } from '../../tasks/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { busCard, headerNames, presenceMark, Sender } from '../exchange.ts';
import { checkBusName } from '../transport/checks.ts';
import { topics } from '../transport/topics.ts';
import type { HostOptions } from './host.ts';

export interface AnnouncerOptions {
  readonly sender: Sender;
  readonly card: AgentCard;
  /** Signs the card, for directories that take no other. */
  readonly cardKeys?: readonly [SigningKey, ...SigningKey[]] | undefined;
  /** Milliseconds. */
  readonly intervalMs: number;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
}

/** Announces an agent at start, periodically, and when it stops. */
export class Announcer {
  readonly #options: AnnouncerOptions;
  #body = '';
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.once();
    this.#again();
  }

  /** Announces once: for agents that are started on demand. */
  async once(): Promise<void> {
    const { card, cardKeys } = this.#options;
    const shown = cardKeys === undefined ? card : await signCard(card, { keys: cardKeys });
    this.#body = JSON.stringify(shown);
    await this.#announce();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    if (this.#body !== '') await this.#announce('gone');
  }

  #again(): void {
    const { scheduler, intervalMs, logger } = this.#options;
    if (this.#isStopped) return;
    this.#timer = scheduler.after(intervalMs, () => {
      this.#announce()
        .catch((error: unknown) => logger.warn({ error }, 'bus.announce.failed'))
        .finally(() => this.#again());
    });
  }

  async #announce(presence?: 'gone'): Promise<void> {
    const { sender, scheduler } = this.#options;
    await sender.send(topics.discovery, {
      type: 'announce',
      body: this.#body,
      correlationId: presenceMark(presence === 'gone', scheduler.now()),
      persistent: false,
      headers: presence === undefined ? {} : { [headerNames.presence]: presence },
    });
  }
}

/** What is announced, and on which bus. */
export type AnnounceOnceOptions = Pick<
  HostOptions,
  'bus' | 'name' | 'signer' | 'card' | 'cardKeys'
>;

/**
 * Announces an agent that is started on demand. Directories keep it for a day.
 * @example await announceOnce(researcher, { bus })
 */
export async function announceOnce(agent: Agent, options: AnnounceOnceOptions): Promise<void> {
  const { bus, signer, cardKeys, card } = options;
  const name = checkBusName(options.name ?? agent.name, 'the agent');
  const announcer = new Announcer({
    sender: new Sender({ bus, name, signer }),
    card: busCard(agent, { name, ...card }),
    cardKeys,
    intervalMs: 0,
    scheduler: systemScheduler,
    logger: silentLogger,
  });
  await announcer.once();
}
