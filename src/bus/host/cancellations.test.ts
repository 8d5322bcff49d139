import { expect, test, vi } from 'vitest';
import { agent } from '../../agents/index.ts';
import { joinPeers } from '../../peers/index.ts';
import { busLink } from '../link/bus-link.ts';
import { openBus } from '../transport/open-bus.ts';
import type { Bus } from '../transport/bus.ts';
import { hostOnBus } from './host.ts';
import { openMemory } from '../../store/index.ts';
import { systemScheduler } from '../../tasks/index.ts';
import { PendingCancellations } from './cancellations.ts';

test('the number of pending cancellations of a caller is bounded', async () => {
  const pending = new PendingCancellations({
    store: openMemory(),
    scheduler: systemScheduler,
    agent: 'desk',
  });
  const eve = { tenant: '', subject: 'eve', method: 'jwt' };
  const ada = { tenant: '', subject: 'ada', method: 'jwt' };
  for (let count = 0; count < 1_000; count += 1) await pending.keep(`task ${count}`, eve);
  await expect(pending.keep('one more', eve)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await pending.keep('task 1', ada);
  expect(await pending.take('task 1', ada)).toBe(true);
  expect(await pending.take('task 1', ada)).toBe(false);
  // Its own requests make room once their tasks have arrived.
  expect(await pending.take('task 1', eve)).toBe(true);
  await pending.keep('one more', eve);
});

/** Counts open consumers of a bus. */
function counted(bus: Bus): { open: number } {
  const count = { open: 0 };
  const consume = bus.consume.bind(bus);
  vi.spyOn(bus, 'consume').mockImplementation(async (...args) => {
    const consumption = await consume(...args);
    count.open += 1;
    const close = consumption.close.bind(consumption);
    vi.spyOn(consumption, 'close').mockImplementation(async () => {
      count.open -= 1;
      await close();
    });
    return consumption;
  });
  return count;
}

test('a host that fails to start leaves no consumers behind', async () => {
  await using bus = await openBus({ type: 'memory' });
  const consumers = counted(bus);
  vi.spyOn(bus, 'inspect').mockRejectedValueOnce(new Error('no answer'));
  const desk = agent({ name: 'desk' }, async function* () {});
  await expect(hostOnBus(desk, { bus })).rejects.toThrow('no answer');
  expect(consumers.open).toBe(0);
});

test('a network that fails to start leaves no consumers behind', async () => {
  await using bus = await openBus({ type: 'memory' });
  const consumers = counted(bus);
  vi.spyOn(bus, 'publish').mockRejectedValueOnce(new Error('no answer'));
  const joined = joinPeers({ name: 'me', store: openMemory(), links: [busLink({ bus })] });
  await expect(joined).rejects.toThrow('no answer');
  expect(consumers.open).toBe(0);
});
