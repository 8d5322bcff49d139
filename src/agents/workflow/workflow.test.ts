import { expect, test } from 'vitest';
import { scriptedModel } from '../../models/index.ts';
import { artifact, data, textOf } from '../../protocol/index.ts';
import type { Agent } from '../agent.ts';
import { agent, chunk, completed, failed, inputRequired, rejected, working } from '../define.ts';
import { llmAgent } from '../llm/llm-agent.ts';
import { Conversation, type Said } from '../testing/conversation.ts';
import { exitLoop, loop } from './loop.ts';
import { parallel } from './parallel.ts';
import { sequential } from './sequential.ts';

/** An agent that wraps what it gets in its name, and counts its turns. */
function wrapper(name: string): Agent & { turns: string[] } {
  const turns: string[] = [];
  return {
    ...agent({ name }, async function* (turn) {
      const text = textOf(turn.message);
      turns.push(text);
      yield working(`${name} works`);
      yield chunk('answer', `${name}(`);
      yield chunk('answer', `${text})`, { append: true, last: true });
    }),
    turns,
  };
}

/** An agent that asks before it continues. */
function asking(name: string): Agent & { abandoned: string[] } {
  const abandoned: string[] = [];
  return {
    ...agent({ name }, async function* (turn) {
      const saved = await turn.state.load();
      const text = textOf(turn.message);
      if (!turn.isContinuation) {
        yield inputRequired(`${name}: ${text}?`, { context: { value: { about: text } } });
      } else {
        yield artifact(`${name}(${saved?.['about'] as string}, ${text})`);
      }
    }),
    abandon: async (turn) => {
      abandoned.push((await turn.state.load())?.['about'] as string);
      return { context: { value: {} } };
    },
    abandoned,
  };
}

const ids = (said: Said): readonly string[] => said.artifacts.map(({ artifactId }) => artifactId);

// ---- sequential -----------------------------------------------------------------------------------

test('each step works on what the one before it made, and the last one is shown', async () => {
  const line = sequential({ name: 'line', steps: [wrapper('a'), wrapper('b'), wrapper('c')] });
  const said = await new Conversation(line).say('x');
  expect(said.text).toBe('c(b(a(x)))');
  expect(said.end.kind).toBe('completed');
  const steps = said.events.flatMap((event) =>
    'kind' in event && event.kind === 'working' && event.parts === undefined
      ? [event.metadata?.['agent']]
      : [],
  );
  expect(steps).toEqual(['a', 'b', 'c']);
});

test('steps may get all that was made before, and all may be shown', async () => {
  const line = sequential({
    name: 'line',
    steps: [wrapper('a'), wrapper('b')],
    passes: 'all',
    shows: 'all',
  });
  const said = await new Conversation(line).say('x');
  expect(said.text).toBe('a(x)|b(x\na(x))');
  expect(ids(said)).toEqual(['a/answer', 'b/answer']);
});

test('data and files are handed on as they are', async () => {
  const maker = agent({ name: 'maker' }, async function* () {
    yield artifact([data({ n: 1 }), { raw: 'AAAA', mediaType: 'image/png' }]);
  });
  const taker = agent({ name: 'taker' }, async function* (turn) {
    yield completed(turn.message.parts);
  });
  const { end } = await new Conversation(sequential({ name: 'line', steps: [maker, taker] })).say(
    'x',
  );
  expect(end.parts).toEqual([{ data: { n: 1 } }, { raw: 'AAAA', mediaType: 'image/png' }]);
});

test('a step that does not complete ends the whole', async () => {
  const after = wrapper('after');
  for (const end of [failed('no'), rejected('not mine')]) {
    const stopper = agent({ name: 'stopper' }, async function* () {
      yield end;
    });
    const line = sequential({ name: 'line', steps: [wrapper('a'), stopper, after] });
    expect((await new Conversation(line).say('x')).end).toMatchObject(end);
  }
  expect(after.turns).toEqual([]);
});

test('a step that asks is gone on with, and no step before it runs again', async () => {
  const first = wrapper('a');
  const line = sequential({ name: 'line', steps: [first, asking('b'), wrapper('c')] });
  const conversation = new Conversation(line);
  const asked = await conversation.say('x');
  expect(asked.end).toMatchObject({ kind: 'input-required', parts: [{ text: 'b: a(x)?' }] });
  const done = await conversation.say('yes', { taskId: asked.taskId });
  expect(done.text).toBe('c(b(a(x), yes))');
  expect(first.turns).toEqual(['x']);
  expect(conversation.value).toEqual({ children: { b: { about: 'a(x)' } } });
});

test('a cancel while a step waits reaches that step', async () => {
  const waiting = asking('b');
  const conversation = new Conversation(
    sequential({ name: 'line', steps: [wrapper('a'), waiting] }),
  );
  const { taskId } = await conversation.say('x');
  await conversation.abandon(taskId);
  expect(waiting.abandoned).toEqual(['a(x)']);
  expect(conversation.value).toEqual({ children: { b: {} } });
});

test('a step that escalates ends the sequence with what it made', async () => {
  const early = agent({ name: 'early' }, async function* () {
    yield artifact('enough', { artifactId: 'e' });
    yield completed(undefined, { metadata: { escalate: true } });
  });
  const last = wrapper('last');
  const said = await new Conversation(sequential({ name: 'line', steps: [early, last] })).say('x');
  expect(said.text).toBe('enough');
  expect(said.end.metadata).toEqual({ escalate: true });
  expect(last.turns).toEqual([]);
});

test('steps remember their own conversations, over turns and within one', async () => {
  const model = scriptedModel(() => 'ok');
  const line = sequential({
    name: 'line',
    steps: [wrapper('a'), llmAgent({ name: 'b', model })],
  });
  const conversation = new Conversation(line);
  await conversation.say('one');
  await conversation.say('two');
  expect(model.requests[1]?.messages.map(({ text }) => text)).toEqual(['a(one)', 'ok', 'a(two)']);
});

test('what the steps cost is added up, also over a pause', async () => {
  const usage = { input: 5, output: 5 };
  const model = () => scriptedModel(() => ({ text: 'ok', usage }));
  const line = sequential({
    name: 'line',
    steps: [
      llmAgent({ name: 'a', model: model() }),
      asking('b'),
      llmAgent({ name: 'c', model: model() }),
    ],
  });
  const conversation = new Conversation(line);
  const asked = await conversation.say('x');
  expect(asked.end.metadata).toMatchObject({ usage: { calls: 1 } });
  const done = await conversation.say('yes', { taskId: asked.taskId });
  expect(done.end.metadata).toMatchObject({ usage: { input: 10, output: 10, calls: 2 } });
});

class Crash extends Error {}

test('with a journal, a turn that runs again skips the steps that had finished', async () => {
  const first = wrapper('a');
  const second = wrapper('b');
  let crashes = 1;
  const third = agent({ name: 'c' }, async function* (turn) {
    if (crashes > 0) {
      crashes -= 1;
      yield working('dying');
    }
    yield artifact(`c(${textOf(turn.message)})`);
  });
  const line = sequential({
    name: 'line',
    steps: [first, second, third],
    shows: 'all',
    onInterrupted: 'run-again',
  });
  const conversation = new Conversation(line);
  const turn = { taskId: 't', messageId: 'm' };
  const dying = conversation.say('x', {
    ...turn,
    onEvent: (event) => {
      if ('kind' in event && event.kind === 'working' && event.parts?.[0]?.text === 'dying') {
        throw new Crash();
      }
    },
  });
  await expect(dying).rejects.toThrow(Crash);
  const said = await conversation.say('x', { ...turn, attempt: 2 });
  expect(said.text).toBe('a(x)|b(a(x))|c(b(a(x)))');
  expect(first.turns).toHaveLength(1);
  expect(second.turns).toHaveLength(1);
});

// ---- parallel -------------------------------------------------------------------------------------

test('branches work side by side on the same message, with artifacts of their own', async () => {
  const meeting = Promise.withResolvers<void>();
  let arrived = 0;
  const meet = (name: string) =>
    agent({ name }, async function* (turn) {
      arrived += 1;
      if (arrived === 2) meeting.resolve();
      await meeting.promise;
      yield artifact(`${name}: ${textOf(turn.message)}`, { artifactId: 'answer' });
    });
  const both = parallel({ name: 'both', branches: [meet('one'), meet('two')] });
  const said = await new Conversation(both).say('hi');
  expect(said.artifacts).toEqual([
    {
      artifactId: 'one/answer',
      parts: [{ text: 'one: hi' }],
      metadata: { agent: 'one', branch: 0 },
    },
    {
      artifactId: 'two/answer',
      parts: [{ text: 'two: hi' }],
      metadata: { agent: 'two', branch: 1 },
    },
  ]);
});

test('results of branches keep the order of the branches, however long each took', async () => {
  const slow = agent({ name: 'slow' }, async function* () {
    await new Promise((resolve) => setImmediate(resolve));
    yield artifact('first');
  });
  const quick = agent({ name: 'quick' }, async function* () {
    yield artifact('second');
  });
  const line = sequential({
    name: 'line',
    steps: [parallel({ name: 'both', branches: [slow, quick] }), wrapper('join')],
  });
  expect((await new Conversation(line).say('x')).text).toBe('join(first\nsecond)');
});

test('branches do not hear each other', async () => {
  const one = scriptedModel(() => 'from one');
  const two = scriptedModel(() => 'from two');
  const conversation = new Conversation(
    parallel({
      name: 'both',
      branches: [llmAgent({ name: 'one', model: one }), llmAgent({ name: 'two', model: two })],
    }),
  );
  await conversation.say('first');
  await conversation.say('second');
  expect(one.requests[1]?.messages.map(({ text }) => text)).toEqual([
    'first',
    'from one',
    'second',
  ]);
  expect(two.requests[1]?.promptText).not.toContain('from one');
});

test('a branch that fails takes nothing from the others', async () => {
  const broken = agent({ name: 'broken' }, async function* () {
    yield working('soon to break');
    throw new Error('secret detail');
  });
  const branches = [wrapper('good'), broken];
  const any = await new Conversation(parallel({ name: 'p', branches })).say('x');
  expect(any.end).toMatchObject({
    kind: 'completed',
    parts: [{ data: { failures: [{ agent: 'broken', state: 'failed' }] } }, {}],
  });
  expect(any.text).toBe('good(x)');
  expect(JSON.stringify(any.end)).not.toContain('secret detail');

  const all = await new Conversation(parallel({ name: 'p', branches, requires: 'all' })).say('x');
  expect(all.end).toMatchObject({ kind: 'failed', metadata: { error_type: 'branch_failed' } });
  expect(all.text).toBe('good(x)');

  const none = parallel({ name: 'p', branches: [broken] });
  expect((await new Conversation(none).say('x')).end.kind).toBe('failed');
});

test('what branches end with is kept, on lines of their own, also where another branch fails', async () => {
  const ending = (name: string): Agent =>
    agent({ name }, async function* () {
      yield completed(`${name} is done`);
    });
  const both = parallel({ name: 'p', branches: [ending('one'), ending('two')] });
  const textOfEnd = async (tested: Agent): Promise<string> =>
    textOf({ parts: (await new Conversation(tested).say('x')).end.parts ?? [] });
  expect(await textOfEnd(both)).toBe('one is done\ntwo is done');
  const broken = agent({ name: 'broken' }, async function* () {
    yield failed('no luck');
  });
  const some = parallel({ name: 'p', branches: [ending('one'), broken] });
  expect(await textOfEnd(some)).toBe('one is done\nbroken ended as failed. no luck');
});

test('questions of branches are asked one after the other, and finished branches stay finished', async () => {
  const done = wrapper('done');
  const both = parallel({ name: 'p', branches: [asking('a'), done, asking('b')] });
  const conversation = new Conversation(both);
  const first = await conversation.say('x');
  expect(first.end).toMatchObject({
    kind: 'input-required',
    parts: [{ text: 'a: x?' }],
    metadata: { agent: 'a' },
  });
  expect(first.text).toBe('done(x)');
  const { taskId } = first;
  const second = await conversation.say('one', { taskId });
  expect(second.end.parts).toEqual([{ text: 'b: x?' }]);
  expect(second.text).toBe('a(x, one)');
  const third = await conversation.say('two', { taskId });
  expect(third.end.kind).toBe('completed');
  expect(third.text).toBe('b(x, two)');
  expect(done.turns).toEqual(['x']);
});

test('a cancel reaches all branches that wait', async () => {
  const waiting = [asking('a'), asking('b')];
  const conversation = new Conversation(parallel({ name: 'p', branches: waiting }));
  const { taskId } = await conversation.say('x');
  await conversation.abandon(taskId);
  expect(waiting.map(({ abandoned }) => abandoned)).toEqual([['x'], ['x']]);
});

test('a turn that is stopped stops all branches', async () => {
  const stopped: string[] = [];
  const hanging = (name: string) =>
    agent({ name }, async function* (turn) {
      yield working();
      await new Promise<void>((resolve) =>
        turn.signal.addEventListener('abort', () => {
          stopped.push(name);
          resolve();
        }),
      );
    });
  const controller = new AbortController();
  const said = new Conversation(
    parallel({ name: 'p', branches: [hanging('a'), hanging('b')] }),
  ).say('x', {
    signal: controller.signal,
    onEvent: () => {
      setImmediate(() => controller.abort(new Error('stop')));
    },
  });
  await expect(said).rejects.toThrow('stop');
  expect(stopped).toEqual(['a', 'b']);
});

// ---- loop -----------------------------------------------------------------------------------------

test('a loop continues until its condition holds', async () => {
  const grow = wrapper('g');
  const said = await new Conversation(
    loop({ name: 'l', steps: [grow], until: ({ text }) => text.length > 8 }),
  ).say('x');
  expect(said.text).toBe('g(g(g(x)))');
  expect(said.end).toMatchObject({ kind: 'completed', metadata: { iterations: 3 } });
});

test('a loop ends after its rounds, and says so', async () => {
  const said = await new Conversation(
    loop({ name: 'l', steps: [wrapper('a'), wrapper('b')], maxIterations: 2 }),
  ).say('x');
  expect(said.text).toBe('b(a(b(a(x))))');
  expect(said.end.metadata).toEqual({ iterations: 2, exhausted: true });
});

test('a critic ends the loop by its tool, and the result is what it approved', async () => {
  const drafts = scriptedModel(['draft one', 'draft two']);
  const critic = scriptedModel([
    'too long',
    { text: 'good', toolCalls: [{ name: 'exit_loop', input: {} }] },
  ]);
  const polish = loop({
    name: 'polish',
    steps: [
      llmAgent({ name: 'writer', model: drafts }),
      llmAgent({ name: 'critic', model: critic, tools: [exitLoop()] }),
    ],
  });
  const said = await new Conversation(polish).say('write');
  expect(said.text).toBe('draft two');
  expect(said.end.metadata).toMatchObject({ iterations: 2, usage: { calls: 4 } });
  // The writer knows what it wrote before.
  expect(drafts.requests[1]?.messages.map(({ text }) => text)).toEqual([
    'write',
    'draft one',
    'too long',
  ]);
});

test('a question in a loop pauses it, and the answer continues in the same round', async () => {
  const before = wrapper('a');
  let rounds = 0;
  const conversation = new Conversation(
    loop({
      name: 'l',
      steps: [before, asking('b')],
      until: () => {
        rounds += 1;
        return rounds === 2;
      },
    }),
  );
  const first = await conversation.say('x');
  expect(first.end.parts).toEqual([{ text: 'b: a(x)?' }]);
  const second = await conversation.say('1', { taskId: first.taskId });
  expect(second.end.parts).toEqual([{ text: 'b: a(b(a(x), 1))?' }]);
  const third = await conversation.say('2', { taskId: first.taskId });
  expect(third.text).toBe('b(a(b(a(x), 1)), 2)');
  expect(before.turns).toEqual(['x', 'b(a(x), 1)']);
});

test('an escalation passes through what is inside the loop', async () => {
  const exit = agent({ name: 'exit' }, async function* () {
    yield completed('stop', { metadata: { escalate: true } });
  });
  const inner = sequential({ name: 'inner', steps: [wrapper('a'), exit] });
  const said = await new Conversation(loop({ name: 'l', steps: [inner] })).say('x');
  expect(said.end.metadata).toEqual({ iterations: 1 });
  const branched = parallel({ name: 'p', branches: [wrapper('b'), exit] });
  const other = await new Conversation(loop({ name: 'l', steps: [branched] })).say('x');
  expect(other.end.metadata).toEqual({ iterations: 1 });
});

test('what cannot work is refused when it is made', () => {
  const twin = wrapper('twin');
  expect(() => sequential({ name: 's', steps: [] })).toThrow(/has no agents/);
  expect(() => parallel({ name: 'p', branches: [twin, twin] })).toThrow(/named "twin"/);
  expect(() => loop({ name: 'l', steps: [twin], maxIterations: 0 })).toThrow(/1 or more/);
});

test('a consumer that leaves early ends the running step', async () => {
  let isClosed = false;
  const patient = agent({ name: 'patient' }, async function* () {
    try {
      yield working('one');
      yield working('two');
    } finally {
      isClosed = true;
    }
  });
  const conversation = new Conversation(sequential({ name: 'line', steps: [patient] }));
  for await (const event of sequential({ name: 'line', steps: [patient] }).take(
    conversation.turn('go'),
  )) {
    if ('kind' in event && event.kind === 'working' && event.parts !== undefined) break;
  }
  expect(isClosed).toBe(true);
});

test('agents that journal what they do run again after a crash unless they are told to fail', () => {
  const model = scriptedModel([]);
  const step = wrapper('step');
  const workflows = [
    llmAgent({ name: 'w', model }),
    sequential({ name: 'w', steps: [step] }),
    parallel({ name: 'w', branches: [step] }),
    loop({ name: 'w', steps: [step] }),
  ];
  expect(workflows.map(({ onInterrupted }) => onInterrupted)).toEqual(
    workflows.map(() => 'run-again'),
  );
  expect(step.onInterrupted).toBeUndefined();
  expect(llmAgent({ name: 'w', model, onInterrupted: 'fail' }).onInterrupted).toBe('fail');
});

test('a step that was interrupted runs again, unless it says that it fails', async () => {
  for (const [onInterrupted, kind, turns] of [
    [undefined, 'completed', 2],
    ['fail', 'failed', 1],
  ] as const) {
    let count = 0;
    const step = agent(
      { name: 'step', ...(onInterrupted && { onInterrupted }) },
      async function* () {
        count += 1;
        yield working('on it');
      },
    );
    const line = sequential({ name: 'line', steps: [wrapper('first'), step] });
    const conversation = new Conversation(line);
    const turn = { taskId: 't', messageId: 'm' };
    const dying = conversation.say('x', {
      ...turn,
      onEvent: (event) => {
        if ('kind' in event && event.kind === 'working' && event.parts?.[0]?.text === 'on it') {
          throw new Error('crash');
        }
      },
    });
    await expect(dying).rejects.toThrow('crash');
    const { end } = await conversation.say('x', { ...turn, attempt: 2 });
    expect([end.kind, count]).toEqual([kind, turns]);
  }
});

const conversing = ['sequential', 'loop'] as const;
test.each(conversing)(
  'with `passes: all`, the steps of a %s see the whole conversation',
  async (form) => {
    const first = scriptedModel(['Trains are fast.', 'Buses are slow.']);
    const second = scriptedModel(['Verse on trains', 'Verse on buses']);
    const steps = [
      llmAgent({ name: 'facts', model: first }),
      llmAgent({ name: 'poet', model: second }),
    ];
    const poem =
      form === 'sequential'
        ? sequential({ name: 'poem', steps, passes: 'all' })
        : loop({ name: 'poem', steps, passes: 'all', maxIterations: 1 });
    const conversation = new Conversation(poem);
    await conversation.say('Trains?');
    await conversation.say('And buses?');
    const told = (model: typeof first) =>
      model.requests[1]?.messages.map(({ role, text }) => `${role}: ${text}`);
    // The step that runs first sees what the one after it made in the turn before.
    expect(told(first)?.join('\n')).toContain('Verse on trains');
    expect(told(first)?.at(-1)).toBe('user: And buses?');
    expect(told(second)?.[0]).toBe('user: Trains?');
    expect(told(second)?.at(-1)).toBe('user: And buses?\nBuses are slow.');
    expect(conversation.log).toHaveLength(2);
  },
);

test('with `passes: previous`, each step has a conversation of its own', async () => {
  const model = scriptedModel(['Trains are fast.', 'Verse', 'Buses are slow.', 'Verse']);
  const steps = [llmAgent({ name: 'facts', model }), llmAgent({ name: 'poet', model })];
  const conversation = new Conversation(sequential({ name: 'poem', steps }));
  await conversation.say('Trains?');
  await conversation.say('And buses?');
  expect(model.requests[2]?.promptText).not.toContain('Verse');
  expect(model.requests[3]?.messages.map(({ text }) => text)).toEqual([
    'Trains are fast.',
    'Verse',
    'Buses are slow.',
  ]);
});
