import type { Agent } from '../../agents/index.ts';
import { systemScheduler } from '../../tasks/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { busCard, Sender } from '../exchange/index.ts';
import { checkBusName } from '../transport/index.ts';
import { Announcer } from './announcer.ts';
import type { HostOptions } from './host.ts';

/**
 * What is announced, and on which bus.
 * @example
 * const options: AnnounceOnceOptions = { bus, name: 'night-report', card: { version: '1.4.0' } };
 */
export type AnnounceOnceOptions = Pick<
  HostOptions,
  'bus' | 'name' | 'signer' | 'card' | 'cardKeys'
>;

/**
 * Makes an agent known that is not running: one that is started when there is work. Those who listen
 * know it for a day.
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
