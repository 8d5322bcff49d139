import { expect, test } from 'vitest';
import { agent, completed, inputRequired, textOf } from '../agents/index.ts';
import { taskQueueName } from '../bus/index.ts';
import { serve } from '../http/index.ts';
import { projectFolder } from '../../test/support/greenhouse.ts';
import { busFolder, slow } from './testing.contract.ts';
import { Typist } from './testing/typist.ts';

test(
  'call gives a task over the bus: the result on standard output, the way to it beside',
  slow,
  async () => {
    await using folder = await busFolder();
    const { name } = folder;
    await using working = folder.start(['work', 'agent.ts', '--log-level', 'warn']);
    await working.says('Working as');
    const plain = await folder.run(['call', name, 'echo', 'hello']);
    expect(plain).toMatchObject({ code: 0, out: 'echo hello\n{"by":"unverified:cli"}\n' });
    expect(plain.err).toContain(`${name}: thinking`);
    const json = await folder.run(['call', name, 'echo', '-', '--json'], { input: 'piped\n' });
    expect(JSON.parse(json.out)).toMatchObject({
      agent: name,
      skill: 'echo',
      end: 'TASK_STATE_COMPLETED',
      text: 'echo piped',
      data: [{ by: 'unverified:cli' }],
      taskId: expect.any(String) as unknown,
    });

    const failed = await folder.run(['call', name, 'echo', 'fail']);
    expect(failed).toMatchObject({ code: 1, out: '' });
    expect(failed.err).toContain('failed: as you wish');
    for (const answering of [{ args: ['--answer', 'this'] }, { args: [], input: 'this\n' }]) {
      const { args, ...options } = answering;
      const asked = await folder.run(['call', name, 'echo', 'ask', ...args], options);
      expect(asked.err).toContain('asks: which one?');
      expect(asked).toMatchObject({ code: 0, out: 'echo this\n{"by":"unverified:cli"}\n' });
    }
    const unanswered = await folder.run(['call', name, 'echo', 'ask', '--json']);
    expect(unanswered.code).toBe(1);
    expect(JSON.parse(unanswered.out)).toMatchObject({ end: 'TASK_STATE_INPUT_REQUIRED' });
    const late = await folder.run(['call', name, 'echo', 'hang', '--timeout', '0.01']);
    expect(late).toMatchObject({ code: 5, out: '' });
    // Nothing of a command is left behind for good, and the agent works on.
    expect(await folder.bus.inspect(taskQueueName(name))).toMatchObject({ deadLetters: 0 });
    expect((await folder.run(['call', name, 'echo', 'again'])).code).toBe(0);
  },
);

test('a person at a terminal is asked; Ctrl+C at the question cancels the task', slow, async () => {
  await using server = await serve(
    agent({ name: 'asker', skills: ['echo'] }, async function* (turn) {
      const text = textOf(turn.message);
      yield text === 'x' ? inputRequired('which one?') : completed(`you said ${text}`);
    }),
  );
  await using folder = await projectFolder({});
  const args = ['call', server.url, 'echo', 'x'];
  const first = new Typist(args, folder.directory);
  await first.says('asks: which one?');
  await first.type('this\r', 'you said this');
  expect(await first.ended).toBe(0);
  const second = new Typist(args, folder.directory);
  await second.says('asks: which one?');
  await second.type('\u0003', 'input required');
  expect(await second.ended).toBe(1);
});

test('a call to an agent without a queue fails as unreachable', slow, async () => {
  await using folder = await busFolder();
  const unreachable = await folder.run(['call', `${folder.name}-typo`, 'echo', 'x']);
  expect(unreachable).toMatchObject({ code: 3, out: '' });
  expect(unreachable.err).not.toBe('');
});

test('call reaches agents over HTTP too, with no bus at all', slow, async () => {
  await using server = await serve(
    agent({ name: 'http-echo', skills: ['echo'] }, async function* (turn) {
      yield completed(`heard ${textOf(turn.message)}`);
    }),
  );
  await using folder = await busFolder({
    'well-known-agents.json': JSON.stringify([{ agentName: 'friend', url: server.url }]),
  });
  const without = { env: { AMQP_URL: '' }, cwd: '/' };
  const byAddress = await folder.run(['call', server.url, 'echo', 'you'], without);
  expect(byAddress).toMatchObject({ code: 0, out: 'heard you\n' });
  const wellKnown = ['--well-known', folder.path('well-known-agents.json')];
  const byName = await folder.run(['call', 'friend', 'echo', 'me', ...wellKnown], without);
  expect(byName).toMatchObject({ code: 0, out: 'heard me\n' });
  const skill = await folder.run(['call', server.url, 'ecko', 'x'], without);
  expect(skill).toMatchObject({ code: 1, out: '' });
  expect(skill.err).toContain('did you mean "echo"?');
});

test.each([
  [['call', 'x', 'echo', 'm', '--data', '{'], '--data must be a JSON object'],
  [['call', 'x', 'echo', 'm', '--data', '[1]'], '--data must be a JSON object'],
  [['call', 'x', 'echo', 'm', '--metadata', 'no'], 'write name=value'],
  [['call', 'x', 'echo', 'm', '--timeout', '0'], 'a number greater than 0'],
  [['call', 'x', 'echo'], "missing required argument 'message'"],
])('%j is wrong usage', async (args, words) => {
  await using folder = await busFolder();
  const { code, out, err } = await folder.run(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(words);
});
