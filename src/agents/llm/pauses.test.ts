import { expect, test } from 'vitest';
import { z } from 'zod';
import { type ScriptedModel, type ScriptedReply, scriptedModel } from '../../models/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Agent } from '../agent.ts';
import { working } from '../define.ts';
import type { CredentialProvider } from '../tools/credentials.ts';
import { askUser } from '../tools/ask-user.ts';
import { type Tool, tool, ToolPause } from '../tools/tool.ts';
import { Conversation, type SayOptions } from '../testing/conversation.ts';
import { llmAgent } from './llm-agent.ts';

const calling = (...calls: { name: string; input: object; id: string }[]): ScriptedReply => ({
  toolCalls: calls as never,
});

/** An account that counts what is done to it. */
function bank() {
  const transfers: number[] = [];
  const transfer = tool({
    name: 'transfer',
    description: 'Transfers money.',
    input: z.object({ amount: z.number() }),
    needsConfirmation: ({ amount }) => (amount > 10 ? `Transfer ${amount}?` : false),
    run: ({ amount }) => {
      transfers.push(amount);
      return { transferred: amount };
    },
  });
  return { transfers, transfer };
}

function clerk(model: ScriptedModel, tools: readonly Tool[], more: object = {}): Agent {
  return llmAgent({ name: 'clerk', model, tools, ...more });
}

const big = { name: 'transfer', input: { amount: 50 }, id: 'c1' };

test('a call that needs confirmation ends the turn with the question', async () => {
  const { transfers, transfer } = bank();
  const model = scriptedModel([calling(big), 'Done']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const asked = await conversation.say('Send 50');
  expect(asked.end).toMatchObject({
    kind: 'input-required',
    parts: [
      {
        data: {
          request: 'confirmation',
          callId: 'c1',
          tool: 'transfer',
          arguments: { amount: 50 },
          hint: 'Transfer 50?',
        },
      },
      { text: 'Transfer 50?\nMay I run transfer? (yes or no)\n  amount: 50' },
    ],
  });
  expect(transfers).toEqual([]);

  const done = await conversation.say({ data: { confirmed: true } }, { taskId: asked.taskId });
  expect(done.end.kind).toBe('completed');
  expect(done.text).toBe('Done');
  expect(transfers).toEqual([50]);
  expect(model.requests[1]?.promptText).toContain('{"transferred":50}');
  expect(conversation.value).toEqual({});
});

test('a call below the threshold needs no confirmation', async () => {
  const { transfers, transfer } = bank();
  const model = scriptedModel([calling({ ...big, input: { amount: 5 } }), 'Done']);
  await new Conversation(clerk(model, [transfer])).say('Send 5');
  expect(transfers).toEqual([5]);
});

for (const [answer, isRun] of [
  ['yes', true],
  ['Yes!', true],
  ['oui', true],
  ['はい。', true],
  ['no', false],
  ['Nein.', false],
  ['yes please', true],
  ['Go ahead!', true],
  ['OK, no problem, go ahead 👍', true],
  ['nope, send half of it', false],
] as const) {
  test(`"${answer}" ${isRun ? 'confirms' : 'does not confirm'}`, async () => {
    const { transfers, transfer } = bank();
    const model = scriptedModel([calling(big), 'Fine']);
    const conversation = new Conversation(clerk(model, [transfer]));
    const { taskId } = await conversation.say('Send 50');
    const said = await conversation.say(answer, { taskId });
    expect(said.text).toBe('Fine');
    expect(transfers).toEqual(isRun ? [50] : []);
    const prompt = model.requests[1]?.promptText ?? '';
    if (!isRun) expect(prompt).toContain('The user did not confirm this call');
    // Words that are more than a no are heard by the model.
    const saysMore = answer.includes('half');
    expect(model.requests[1]?.lastUserText).toBe(saysMore ? answer : 'Send 50');
  });
}

for (const answer of ['yes, but only half of it', 'what is this?', 'yes?']) {
  test(`"${answer}" is asked again, and a clear answer still counts`, async () => {
    const { transfers, transfer } = bank();
    const model = scriptedModel([calling(big), 'Fine']);
    const conversation = new Conversation(clerk(model, [transfer]));
    const { taskId } = await conversation.say('Send 50');
    const again = await conversation.say(answer, { taskId });
    expect(again.end.kind).toBe('input-required');
    expect(again.end.parts?.at(-1)?.text).toContain('Please answer yes or no.');
    expect(again.end.parts?.[0]?.data).toMatchObject({ request: 'confirmation' });
    expect(transfers).toEqual([]);
    expect((await conversation.say('yes', { taskId })).text).toBe('Fine');
    expect(transfers).toEqual([50]);
  });
}

test('a question has buttons, each for one call', async () => {
  const { transfers, transfer } = bank();
  const two = calling(
    { name: 'transfer', input: { amount: 20 }, id: 'a' },
    { name: 'transfer', input: { amount: 30 }, id: 'b' },
  );
  const model = scriptedModel([two, calling(big), 'Done']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const { taskId, end } = await conversation.say('Send');
  const buttons = (of: typeof end) => of.parts?.at(-1)?.metadata?.['message'];
  expect(buttons(end)).toEqual({
    buttons: [
      { title: 'Approve transfer (a)', payload: 'yes a' },
      { title: 'Deny transfer (a)', payload: 'no a' },
      { title: 'Approve transfer (b)', payload: 'yes b' },
      { title: 'Deny transfer (b)', payload: 'no b' },
    ],
  });
  await conversation.say('yes b', { taskId });
  const { end: next } = await conversation.say('no a', { taskId });
  expect(transfers).toEqual([30]);
  expect(buttons(next)).toEqual({
    buttons: [
      { title: 'Approve', payload: 'yes' },
      { title: 'Deny', payload: 'no' },
    ],
  });
});

test('the question shows the tool and its arguments', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string(), amount: z.number(), note: z.string() }),
    needsConfirmation: true,
    run: () => 'paid',
  });
  const input = { to: 'Ada', amount: 250, note: 'x'.repeat(500) };
  const model = scriptedModel([calling({ name: 'pay', input, id: 'c1' })]);
  const { end } = await new Conversation(clerk(model, [pay])).say('Pay');
  expect(end.parts?.at(-1)?.text).toBe(
    `May I run pay? (yes or no)\n  to: Ada\n  amount: 250\n  note: ${'x'.repeat(199)}…`,
  );
});

test.each([
  ['under arguments', { arguments: { amount: 5 } }],
  ['under input', { input: { amount: 5 } }],
  ['beside the confirmation', { amount: 5 }],
])('a confirmation with other arguments (%s) is refused', async (_, changed) => {
  const { transfers, transfer } = bank();
  const model = scriptedModel([calling(big), 'Fine']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const { taskId } = await conversation.say('Send 50');
  const again = await conversation.say({ data: { confirmed: true, ...changed } }, { taskId });
  expect(again.end.parts?.at(-1)?.text).toContain('The arguments of a call cannot be changed');
  expect(transfers).toEqual([]);
});

test('data that says yes beside text that says no confirms nothing', async () => {
  const { transfers, transfer } = bank();
  const model = scriptedModel([calling(big), 'Fine']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const { taskId } = await conversation.say('Send 50');
  const both = [{ data: { confirmed: true } }, { text: 'no, wait' }];
  const again = await conversation.say(both, { taskId });
  expect(again.end.parts?.at(-1)?.text).toContain('The data says yes and the text says no');
  expect(transfers).toEqual([]);
});

test('a confirmation with the same arguments counts', async () => {
  const { transfers, transfer } = bank();
  const model = scriptedModel([calling(big), 'Fine']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const { taskId } = await conversation.say('Send 50');
  const same = { confirmed: true, arguments: { amount: 50 } };
  expect((await conversation.say({ data: same }, { taskId })).text).toBe('Fine');
  expect(transfers).toEqual([50]);
});

test('a refusal in data may give its reason', async () => {
  const { transfers, transfer } = bank();
  const model = scriptedModel([calling(big), 'Fine']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const { taskId } = await conversation.say('Send 50');
  const answer = { data: { callId: 'c1', confirmed: false, reason: 'too much' } };
  await conversation.say(answer, { taskId });
  expect(transfers).toEqual([]);
  expect(model.requests[1]?.promptText).toContain('too much');
});

test('an answer to another question confirms nothing and is asked again', async () => {
  const { transfers, transfer } = bank();
  const model = scriptedModel([calling(big), 'Done']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const { taskId } = await conversation.say('Send 50');
  const again = await conversation.say({ data: { callId: 'other', confirmed: true } }, { taskId });
  expect(again.end.kind).toBe('input-required');
  expect(again.end.parts?.at(-1)?.text).toContain('This answers no open question');
  expect(transfers).toEqual([]);
  await conversation.say('yes', { taskId });
  expect(transfers).toEqual([50]);
});

test('calls of one id are two calls, and an old answer does not confirm a new one', async () => {
  const { transfers, transfer } = bank();
  const same = (amount: number) => ({ name: 'transfer', input: { amount }, id: 'c1' });
  const model = scriptedModel([calling(same(20), same(30)), calling(same(40)), 'Done']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const { taskId, end } = await conversation.say('Send');
  const asked = end.parts?.flatMap(({ data }) => data ?? []) as { callId: string }[];
  expect(asked).toMatchObject([{ arguments: { amount: 20 } }, { arguments: { amount: 30 } }]);
  const ids = asked.map(({ callId }) => callId);
  expect(new Set(ids).size).toBe(2);
  const both = [
    { callId: ids[0] ?? '', confirmed: true },
    { callId: ids[1] ?? '', confirmed: false },
  ];
  const next = await conversation.say({ data: both }, { taskId });
  expect(transfers).toEqual([20]);
  const [again] = next.end.parts ?? [];
  expect(ids).not.toContain((again?.data as { callId?: string } | undefined)?.callId);
  const late = await conversation.say({ data: both }, { taskId });
  expect(late.end.kind).toBe('input-required');
  expect(transfers).toEqual([20]);
});

test('several questions are asked at once and answered one by one or together', async () => {
  const { transfers, transfer } = bank();
  const three = calling(
    { name: 'transfer', input: { amount: 20 }, id: 'a' },
    { name: 'transfer', input: { amount: 30 }, id: 'b' },
    { name: 'transfer', input: { amount: 1 }, id: 'c' },
  );
  const model = scriptedModel([three, 'Done']);
  const conversation = new Conversation(clerk(model, [transfer]));
  const { taskId, end } = await conversation.say('Send');
  expect(end.parts?.flatMap(({ data }) => data ?? [])).toMatchObject([
    { callId: 'a' },
    { callId: 'b' },
  ]);
  expect(transfers).toEqual([1]);
  const unclear = await conversation.say('yes', { taskId });
  expect(unclear.end.parts?.at(-1)?.text).toContain('Several calls wait');
  expect(transfers).toEqual([1]);
  const half = await conversation.say({ data: { callId: 'b', confirmed: true } }, { taskId });
  expect(half.end.parts?.flatMap(({ data }) => data ?? [])).toMatchObject([{ callId: 'a' }]);
  expect(transfers).toEqual([1, 30]);
  const done = await conversation.say({ data: { confirmed: false } }, { taskId });
  expect(done.text).toBe('Done');
  expect(transfers).toEqual([1, 30]);
});

test('tasks of one conversation wait independently', async () => {
  const { transfers, transfer } = bank();
  const model = scriptedModel([
    calling(big),
    calling({ ...big, input: { amount: 70 } }),
    'First',
    'Second',
  ]);
  const conversation = new Conversation(clerk(model, [transfer]));
  const one = await conversation.say('Send 50');
  const two = await conversation.say('Send 70');
  expect((await conversation.say('yes', { taskId: two.taskId })).text).toBe('First');
  expect(transfers).toEqual([70]);
  expect((await conversation.say('no', { taskId: one.taskId })).text).toBe('Second');
  expect(transfers).toEqual([70]);
});

test('a cancelled task forgets its question', async () => {
  const { transfer } = bank();
  const conversation = new Conversation(clerk(scriptedModel([calling(big)]), [transfer]));
  const { taskId } = await conversation.say('Send 50');
  expect(JSON.stringify(conversation.value)).toContain(taskId);
  await conversation.abandon(taskId);
  expect(conversation.value).toEqual({});
});

test('a long-running tool is started once, and the caller brings its result', async () => {
  let begun = 0;
  const order = tool({
    name: 'order',
    description: 'Orders.',
    isLongRunning: true,
    run: () => {
      begun += 1;
      return { ticket: 17 };
    },
  });
  const model = scriptedModel([calling({ name: 'order', input: {}, id: 'o' }), 'Arrived']);
  const conversation = new Conversation(clerk(model, [order]));
  const { taskId, end } = await conversation.say('Order it');
  expect(end).toMatchObject({
    kind: 'input-required',
    parts: [{ data: { request: 'result', callId: 'o', ticket: { ticket: 17 } } }, {}],
  });
  const done = await conversation.say(
    { data: { callId: 'o', result: { arrived: true } } },
    { taskId },
  );
  expect(done.text).toBe('Arrived');
  expect(begun).toBe(1);
  expect(model.requests[1]?.promptText).toContain('{"arrived":true}');
});

for (const [answer, shown] of [
  ['It arrived', 'It arrived'],
  [{ data: { free: 'form' } }, '{"free":"form"}'],
  [{ data: { error: 'lost in the mail' } }, 'lost in the mail'],
] as const) {
  test(`the result of a long-running tool may be ${JSON.stringify(answer)}`, async () => {
    const order = tool({
      name: 'order',
      description: 'Orders.',
      isLongRunning: true,
      run: () => 1,
    });
    const model = scriptedModel([calling({ name: 'order', input: {}, id: 'o' }), 'ok']);
    const conversation = new Conversation(clerk(model, [order]));
    const { taskId } = await conversation.say('Order it');
    await conversation.say(answer, { taskId });
    expect(model.requests[1]?.promptText).toContain(shown);
  });
}

test('a tool without its credential asks for consent, and runs once there is one', async () => {
  const used: string[] = [];
  const issues = tool({
    name: 'issues',
    description: 'Lists issues.',
    credentials: {
      scheme: 'forge',
      scopes: ['read'],
      authorizationUrl: 'https://forge.example/ok',
    },
    run: (_, { credential }) => {
      if (credential?.type === 'bearer') used.push(credential.token);
      return [];
    },
  });
  const asked: (string | undefined)[] = [];
  const credentials: CredentialProvider = ({ reference, caller }) => {
    asked.push(reference);
    expect(caller.subject).toBe('alice');
    return reference === 'consent-1' ? { type: 'bearer', token: 's3cret' } : undefined;
  };
  const model = scriptedModel([calling({ name: 'issues', input: {}, id: 'i' }), 'None']);
  const conversation = new Conversation(clerk(model, [issues], { credentials }));
  const { taskId, end } = await conversation.say('List issues');
  expect(end).toMatchObject({
    kind: 'auth-required',
    parts: [{ data: { request: 'credential', scheme: 'forge', scopes: ['read'] } }, {}],
  });
  const still = await conversation.say('I did', { taskId });
  expect(still.end.kind).toBe('auth-required');
  const done = await conversation.say({ data: { credential: 'consent-1' } }, { taskId });
  expect(done.text).toBe('None');
  expect(used).toEqual(['s3cret']);
  expect(asked).toEqual([undefined, undefined, 'consent-1']);
  const everything = JSON.stringify([conversation.value, conversation.log, model.requests, done]);
  expect(everything).not.toContain('s3cret');
});

test('consent is not asked for without end', async () => {
  const locked = tool({
    name: 'locked',
    description: 'Locked.',
    credentials: { scheme: 'x' },
    run: () => 1,
  });
  const model = scriptedModel([calling({ name: 'locked', input: {}, id: 'l' }), 'No luck']);
  const conversation = new Conversation(clerk(model, [locked]));
  const { taskId } = await conversation.say('Go');
  for (let count = 0; count < 4; count += 1) {
    expect((await conversation.say('done', { taskId })).end.kind).toBe('auth-required');
  }
  expect((await conversation.say('done', { taskId })).text).toBe('No luck');
});

test('a tool may ask by itself and continue with the answer and what it kept', async () => {
  const steps: unknown[] = [];
  const wizard = tool({
    name: 'wizard',
    description: 'Asks.',
    run: () => new ToolPause({ question: [{ text: 'Which colour?' }], state: { step: 1 } }),
    resume: ({ message, state }) => {
      steps.push(state);
      if (steps.length === 1) {
        return new ToolPause({ question: [{ text: 'Really?' }], state: { step: 2 } });
      }
      return { colour: message.parts[0]?.text };
    },
  });
  const model = scriptedModel([calling({ name: 'wizard', input: {}, id: 'w' }), 'Red it is']);
  const conversation = new Conversation(clerk(model, [wizard]));
  const first = await conversation.say('Paint');
  expect(first.end).toEqual({
    kind: 'input-required',
    parts: [{ text: 'Which colour?' }],
    metadata: expect.anything() as object,
    context: expect.anything() as object,
  });
  const { taskId } = first;
  expect((await conversation.say('red?', { taskId })).end.parts).toEqual([{ text: 'Really?' }]);
  expect((await conversation.say('red', { taskId })).text).toBe('Red it is');
  expect(steps).toEqual([{ step: 1 }, { step: 2 }]);
  expect(model.requests[1]?.promptText).toContain('{"colour":"red"}');
});

test('a model may ask its caller back, and hears the answer as its result', async () => {
  const input = { question: 'Which colour?', choices: ['red', 'blue'] };
  const model = scriptedModel([calling({ name: 'ask_user', input, id: 'q' }), 'Red it is']);
  const conversation = new Conversation(clerk(model, [askUser()]));
  const { taskId, end } = await conversation.say('Paint');
  expect(end).toMatchObject({
    kind: 'input-required',
    parts: [{ text: 'Which colour?' }, { data: { choices: ['red', 'blue'] } }],
  });
  expect((await conversation.say('the red one', { taskId })).text).toBe('Red it is');
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool' });
  expect(model.requests[1]?.messages.at(-1)?.text).toContain('the red one');
});

// ---- a turn that runs again after its process died ---------------------------------------------------

class Crash extends Error {}

/** A tool whose first run never comes back. */
function stuckTool(options: { isIdempotent?: boolean; needsConfirmation?: boolean }) {
  const started = Promise.withResolvers<void>();
  let runs = 0;
  const stuck = tool({
    name: 'stuck',
    description: 'Hangs.',
    ...options,
    run: () => {
      runs += 1;
      started.resolve();
      return runs === 1 ? new Promise(() => {}) : 'done';
    },
  });
  return { stuck, started: started.promise, runs: () => runs };
}

/** Lets a turn run until its tool has started, and then no further: its process died. */
async function dieIn(
  conversation: Conversation,
  started: Promise<void>,
  content: string,
  options: SayOptions,
): Promise<void> {
  const process = new AbortController();
  const turn = conversation.say(content, { ...options, signal: process.signal });
  await started;
  process.abort(new Crash('the process died'));
  await expect(turn).rejects.toThrow(Crash);
}

const callStuck = calling({ name: 'stuck', input: {}, id: 's' });

test('with a journal, a confirmed tool whose start was noted is not run a second time', async () => {
  const { stuck, started, runs } = stuckTool({ needsConfirmation: true });
  const model = scriptedModel([callStuck, 'I cannot tell']);
  const conversation = new Conversation(clerk(model, [stuck], { onInterrupted: 'run-again' }));
  const { taskId } = await conversation.say('Send');
  const again = { taskId, messageId: 'answer' };
  await dieIn(conversation, started, 'yes', again);
  const said = await conversation.say('yes', { ...again, attempt: 2 });
  expect(said.text).toBe('I cannot tell');
  expect(runs()).toBe(1);
  expect(model.requests[1]?.promptText).toContain('whether it took effect is unknown');
});

test('with a journal, an idempotent tool whose outcome is unknown is run again', async () => {
  const { stuck, started, runs } = stuckTool({ isIdempotent: true });
  const model = scriptedModel([callStuck, 'Done']);
  const conversation = new Conversation(clerk(model, [stuck], { onInterrupted: 'run-again' }));
  const turn = { messageId: 'm', taskId: 'task-1' };
  await dieIn(conversation, started, 'Go', turn);
  const said = await conversation.say('Go', { ...turn, attempt: 2 });
  expect(said.text).toBe('Done');
  expect(runs()).toBe(2);
  expect(model.requests).toHaveLength(2);
});

test('with a journal, answers and results are taken as noted: nothing is asked or run twice', async () => {
  let runs = 0;
  const count = tool({
    name: 'count',
    description: 'Counts.',
    run: () => {
      runs += 1;
      return runs;
    },
  });
  const model = scriptedModel([
    calling({ name: 'count', input: {}, id: 'c' }),
    { text: 'Once', chunkDelayMs: 1 },
  ]);
  const conversation = new Conversation(clerk(model, [count], { onInterrupted: 'run-again' }));
  const turn = { messageId: 'm', taskId: 'task-1' };
  const dying = conversation.say('Go', {
    ...turn,
    onEvent: (event) => {
      if ('kind' in event && event.kind === 'completed') throw new Crash();
    },
  });
  await expect(dying).rejects.toThrow(Crash);
  const said = await conversation.say('Go', { ...turn, attempt: 2 });
  expect(said.text).toBe('Once');
  expect(runs).toBe(1);
  expect(model.requests).toHaveLength(2);
  const left = await conversation.records.list({
    space: 'agent-journal',
    limit: 10,
    now: Date.now(),
  });
  expect(left).toEqual([]);
});

test('a pause that another version wrote is refused with a clear error', async () => {
  const { transfer } = bank();
  const conversation = new Conversation(clerk(scriptedModel(['Done']), [transfer]));
  conversation.value = { pauses: { 'task-1': { v: 2, entries: 'compressed' } } };
  await expect(conversation.say('yes', { taskId: 'task-1' })).rejects.toMatchObject({
    code: 'STORE_VERSION',
    message: expect.stringContaining(`can't read pause of task "task-1" (version 2)`),
  });
});

test('an invalid journal entry is refused with a clear error', async () => {
  const { transfers, transfer } = bank();
  const small = { name: 'transfer', input: { amount: 5 }, id: 'c1' };
  const agent = clerk(scriptedModel([calling(small)]), [transfer], { onInterrupted: 'run-again' });
  const conversation = new Conversation(agent);
  const turn = conversation.turn('Send 5', { messageId: 'm1', taskId: 't1' });
  await turn.journal?.claim('call 1.0', { call: 'done' });
  const rerun = { messageId: 'm1', taskId: 't1', attempt: 2 };
  await expect(conversation.say('Send 5', rerun)).rejects.toMatchObject({
    code: 'STORE_VERSION',
    message: expect.stringContaining('value.call'),
  });
  expect(transfers).toEqual([]);
});

test('a call whose start cannot be journaled fails the turn, and stops the other calls', async () => {
  const [started, failed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = tool({
    name: 'slow',
    description: 'Waits.',
    run: async (_, { emit }) => {
      await emit(working('waiting'));
      started.resolve();
      await failed.promise;
    },
  });
  let signal: AbortSignal | undefined;
  const hanging = tool({
    name: 'hanging',
    description: 'Never ends.',
    run: (_, context) => {
      signal = context.signal;
      return new Promise<never>(() => {});
    },
  });
  const { transfers, transfer } = bank();
  const small = { name: 'transfer', input: { amount: 5 } };
  const calls = [
    { name: 'hanging', input: {}, id: 'c0' },
    { name: 'slow', input: {}, id: 'c1' },
    ...['c2', 'c3', 'c4'].map((id) => ({ ...small, id })),
  ];
  const agent = clerk(scriptedModel([calling(...calls)]), [hanging, slow, transfer], {
    onInterrupted: 'run-again',
    maxParallelTools: 3,
  });
  const { journal, ...turn } = new Conversation(agent).turn('Send');
  if (journal === undefined) throw new Error('the turn has no journal');
  const taken = agent.take({
    ...turn,
    journal: {
      read: (key) => journal.read(key),
      write: (key, value) => journal.write(key, value),
      claim: async (key, value) => {
        if (key !== 'call 1.2') return journal.claim(key, value);
        await started.promise;
        failed.resolve();
        throw new LegateError('STORE_FAILED', 'the store is unavailable');
      },
    },
  });
  const events = taken[Symbol.asyncIterator]();
  await events.next();
  // All work of the calls is in memory, so it has settled by the next iteration of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  expect(transfers).toEqual([]);
  await expect(events.next()).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(signal?.aborted).toBe(true);
});
