import { signCard } from '../../auth/index.ts';
import type { AgentCard } from '../../protocol/index.ts';
import type { SigningKey } from '../../push/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { headerNames, presenceMark, type Sender } from '../exchange/index.ts';
import { topics } from '../transport/index.ts';

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

/** Makes an agent known: when it comes, every so often while it stays, and when it goes. */
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

  /** Announces now and not again: for agents that come only when there is work. */
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
