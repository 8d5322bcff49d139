/**
 * A worker that starts when there is work, runs one task and exits, like a cluster job that is scaled by
 * the length of the queue. Tasks wait in the queue, and the worker reports the outcome.
 */
import assert from 'node:assert/strict';
import {
  busLink,
  declareAgentQueue,
  hostOnBus,
  openBus,
  taskQueueName,
} from '../../src/bus/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { researcher } from './researcher.ts';
import { joinPeers } from '../../src/peers/index.ts';

// Uses a broker if there is one, otherwise the memory of this process; the other code is the same.
const { AMQP_URL: url } = process.env;
await using bus = await openBus(
  url ? { type: 'rabbitmq', url, exchange: 'example-research' } : { type: 'memory' },
);
// Once, when the agent is deployed: `legate bus declare researcher`.
await declareAgentQueue(bus, researcher.name);

const told: string[] = [];
const progress: string[] = [];
await using network = await joinPeers({
  name: 'assistant',
  store: openMemory(),
  links: [busLink({ bus })],
  // It runs only for short times, so the caller names it instead of waiting for an announcement.
  wellKnown: [{ name: researcher.name }],
  conversations: {
    progress: (_task, said) => void progress.push(said),
    ended: async (_task, notice) => void told.push(notice.text),
  },
});
const session = { id: 'chat-1', caller: { tenant: '', subject: 'user', method: 'local' } };
const ask = (message: string) =>
  network.invoker.invoke({ agent: 'researcher', skill: 'research', message }, session);

// Two tasks at a time, while no worker is running.
const bees = await ask('How do bees find flowers?');
const stars = await ask('Why do stars twinkle?');
const waiting = async (): Promise<number> =>
  (await bus.inspect(taskQueueName(researcher.name)))?.messages ?? 0;
assert.equal(await waiting(), 2);

// One job for each task: `legate work researcher --once`.
const outcomes: boolean[] = [];
const store = openMemory();
while ((await waiting()) > 0) {
  const worker = await hostOnBus(researcher, { bus, store, once: true });
  const outcome = await worker.finished;
  outcomes.push(outcome.kind === 'answered' && outcome.isSuccess);
}
assert.deepEqual(outcomes, [true, false]);

const done = await network.invoker.wait(bees.id);
assert.deepEqual(done.outcome?.data, [{ sources: ['bees.txt'] }]);
const report = await network.memory(session.caller).get(done.outcome.keys?.result ?? '');
assert.equal(report?.value, 'Honey bees dance to tell each other where flowers are.');
const failed = await network.invoker.wait(stars.id);
assert.equal(failed.outcome?.end, 'TASK_STATE_FAILED');
assert.ok(
  told.some((text) => text.includes(`with key 'session/chat-1/a2a/researcher/${bees.id}/result'`)),
);
assert.ok(progress.includes('Reading bees.txt'));
console.log('research: two workers took one task each, and one of them failed as it should');
