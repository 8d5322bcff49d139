import { expect, test } from 'vitest';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { taskQueueName, topics } from '../bus/index.ts';
import { message } from '../protocol/index.ts';
import { agentModule, busFolder, type BusFolder, legate, slow } from './testing.contract.ts';

async function send({ bus, name }: BusFolder, words: string): Promise<void> {
  const body = JSON.stringify({ message: message(words) });
  await bus.publish(topics.task(name), { type: 'task', body }, { mandatory: true });
}

const waiting = async ({ bus, name }: BusFolder): Promise<number | undefined> =>
  (await bus.inspect(taskQueueName(name)))?.messages;

test(
  'work --once takes one task and no other: exit 0 when it went well, 1 when it failed',
  slow,
  async () => {
    await using folder = await busFolder();
    expect((await folder.run(['bus', 'declare', folder.name])).code).toBe(0);
    for (const words of ['good', 'fail']) await send(folder, words);
    const good = await folder.run(['work', 'agent.ts', '--once', '--json']);
    expect(good).toMatchObject({ code: 0 });
    expect(JSON.parse(good.out)).toEqual({
      outcome: 'answered',
      isSuccess: true,
      state: 'TASK_STATE_COMPLETED',
    });
    await expect.poll(() => waiting(folder), { timeout: 10_000 }).toBe(1);
    const bad = await folder.run(['work', 'agent.ts', '--once']);
    expect(bad).toMatchObject({ code: 1, out: 'TASK_STATE_FAILED\n' });
    await expect.poll(() => waiting(folder), { timeout: 10_000 }).toBe(0);
    const idle = await folder.run(['work', 'agent.ts', '--once', '--idle-timeout', '0.2']);
    expect(idle).toMatchObject({ code: 0, out: 'idle\n' });
  },
);

test('work --once fails on an invalid task, with the reason', slow, async () => {
  await using folder = await busFolder();
  await folder.run(['bus', 'declare', folder.name]);
  await folder.bus.publish(topics.task(folder.name), { type: 'task', body: '{"message": 1}' });
  const poison = await folder.run(['work', 'agent.ts', '--once', '--json']);
  expect(poison.code).toBe(1);
  expect(JSON.parse(poison.out)).toMatchObject({
    isSuccess: false,
    error: { code: expect.stringMatching(/INVALID/) as unknown },
  });
  const lines = poison.err.split('\n').filter((line) => line.includes('bus.dead_letter'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(taskQueueName(folder.name));
  expect(lines[0]).toMatch(/"level":(?:40|"warn")/);
});

test('work continues until it is asked to stop, and leaves with 0', slow, async () => {
  await using folder = await busFolder();
  await using working = folder.start(['work', 'agent.ts', '--log-level', 'warn']);
  await working.says(`Working as "${folder.name}" on agent.task.${folder.name}`);
  for (const words of ['one', 'two', 'fail']) {
    const { out, code } = await folder.run(['call', folder.name, 'echo', words]);
    expect({ words, out: out.split('\n')[0], code }).toEqual(
      words === 'fail' ? { words, out: '', code: 1 } : { words, out: `echo ${words}`, code: 0 },
    );
  }
  expect((await working.stop()).code).toBe(0);
});

test('work hosts an assistant: from its folder, and packed', slow, async () => {
  await using folder = await busFolder();
  const bus = folder.path('endpoints.yml');
  await using greenhouse = await greenhouseFolder();
  const packed = (await legate(['train', greenhouse.directory])).out.trim();
  for (const source of [greenhouse.directory, packed]) {
    const args = ['work', source, '--name', folder.name, '--endpoints', bus];
    await using working = folder.start([...args, '--store', folder.path(`${Date.now()}.db`)]);
    await working.says('Working as');
    const answer = ['--answer', '/SetSlots(shade=high)'];
    const call = ['call', folder.name, 'set_shade', 'set the shade', ...answer];
    const asked = await folder.run(call);
    expect(asked.err).toContain('How much shade?');
    expect(asked).toMatchObject({ code: 0, out: expect.stringContaining('The shade is high.') });
    await working.stop();
  }
});

test('what is wrong is said before anything is taken', slow, async () => {
  await using folder = await busFolder({
    'two.ts': `${agentModule('a', 'alice')}${agentModule('b', 'bob').replaceAll(/^import.*$/gm, '')}`,
    'none.ts': 'export const nothing = 1;\n',
    'written.yml': 'bus: {type: rabbitmq, url: "amqp://me:hunter2@localhost"}\n',
    'memory.yml': 'bus: {type: memory}\n',
    'unset.yml': 'bus: {type: rabbitmq, url: "${NO_SUCH_VARIABLE}"}\n',
    'wrong.yml': 'bus: {type: rabitmq, url: "x"}\n',
  });
  const elsewhere = { cwd: '/', env: { AMQP_URL: '' } };
  for (const [args, words, options] of [
    [['work', 'nowhere.ts'], 'there is no agent at nowhere.ts'],
    [['work', 'two.ts'], 'two.ts#alice, two.ts#bob'],
    [['work', 'two.ts#bobb'], 'did you mean "bob"?'],
    [['work', 'none.ts'], 'exports no agent'],
    [['work', 'agent.ts', '--endpoints', 'written.yml'], "don't write secrets"],
    [['work', 'agent.ts', '--endpoints', 'memory.yml'], 'works only within one process'],
    [['work', 'agent.ts', '--endpoints', 'unset.yml'], 'NO_SUCH_VARIABLE'],
    [['work', 'agent.ts', '--endpoints', 'wrong.yml'], 'bus.type'],
    [['work', 'agent.ts', '--onec'], 'Did you mean --once?'],
    [['work', 'agent.ts', '--concurrency', '0'], 'an integer of at least 1'],
    [['wrok', 'agent.ts'], 'Did you mean work?'],
    [['bus', 'declare', 'x'], 'which bus?', elsewhere],
  ] as const) {
    const { code, out, err } = await folder.run(args, options);
    expect({ args, code, out }).toEqual({ args, code: 2, out: '' });
    expect(err).toContain(words);
    expect(err).not.toContain('hunter2');
  }
});
