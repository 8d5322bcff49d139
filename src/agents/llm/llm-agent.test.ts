import { expect, test } from 'vitest';
import { z } from 'zod';
import { type ScriptedReply, scriptedModel } from '../../models/index.ts';
import { LegateError, textOf } from '../../protocol/index.ts';
import { createLogger } from '../../telemetry/index.ts';
import type { Turn } from '../agent.ts';
import { tool } from '../tools/tool.ts';
import { Conversation } from '../testing/conversation.ts';
import { llmAgent } from './llm-agent.ts';

const add = tool({
  name: 'add',
  description: 'Adds numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
});

const calls = (...list: [string, object][]): ScriptedReply => ({
  toolCalls: list.map(([name, input], index) => ({
    name,
    input: input as never,
    id: `call_${index}`,
  })),
});

test('the answer of the model is an artifact with the token usage in its metadata', async () => {
  const model = scriptedModel([{ text: 'Hello there', usage: { input: 7, output: 2 } }]);
  const said = await new Conversation(llmAgent({ name: 'a', model })).say('Hi');
  expect(said.artifacts).toEqual([{ artifactId: 'answer', parts: [{ text: 'Hello there' }] }]);
  expect(said.end).toMatchObject({
    kind: 'completed',
    metadata: { usage: { input: 7, output: 2, calls: 1 } },
  });
});

test('tokens of one turn of the event loop share a chunk', async () => {
  const agent = (chunkDelayMs: number | undefined) =>
    llmAgent({
      name: 'a',
      model: scriptedModel([
        { text: 'one two three', ...(chunkDelayMs !== undefined && { chunkDelayMs }) },
      ]),
    });
  const chunks = async (delay?: number) => {
    const { events } = await new Conversation(agent(delay)).say('Hi');
    return events.filter((event) => 'kind' in event && event.kind === 'chunk');
  };
  expect(await chunks()).toMatchObject([
    { append: false, artifact: { parts: [{ text: 'one two three' }] } },
  ]);
  expect(await chunks(5)).toMatchObject([
    { append: false, artifact: { parts: [{ text: 'one' }] } },
    { append: true, artifact: { parts: [{ text: ' two' }] } },
    { append: true, artifact: { parts: [{ text: ' three' }] } },
  ]);
});

test('tools run side by side, and their results lead to the answer', async () => {
  const started: string[] = [];
  const meeting = Promise.withResolvers<void>();
  const waiting = (name: string) =>
    tool({
      name,
      description: name,
      run: async () => {
        started.push(name);
        if (started.length === 2) meeting.resolve();
        await meeting.promise;
        return { from: name };
      },
    });
  const model = scriptedModel([calls(['one', {}], ['two', {}]), 'Both are done']);
  const agent = llmAgent({ name: 'a', model, tools: [waiting('one'), waiting('two')] });
  const said = await new Conversation(agent).say('Go');
  expect(said.text).toBe('Both are done');
  expect(model.requests[1]?.promptText).toContain('{"from":"one"}');
  expect(model.requests[1]?.promptText).toContain('{"from":"two"}');
});

test('text beside calls is shown once, in order, and nothing that was seen is replaced', async () => {
  const model = scriptedModel([
    { text: 'Let me see.', toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] },
    'It is 3.',
  ]);
  const said = await new Conversation(llmAgent({ name: 'a', model, tools: [add] })).say('1+2?');
  expect(said.text).toBe('Let me see.\n\nIt is 3.');
  const appends = said.events.flatMap((event) => ('append' in event ? [event.append] : []));
  expect(appends).toEqual([false, true]);
});

test('text beside calls may be replaced by the answer', async () => {
  const model = scriptedModel([
    { text: 'Let me see.', toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] },
    'It is 3.',
  ]);
  const agent = llmAgent({ name: 'a', model, tools: [add], showsFillers: false });
  expect((await new Conversation(agent).say('1+2?')).text).toBe('It is 3.');
});

test('text before a confirmation stays before the answer of the next turn', async () => {
  const pay = tool({ name: 'pay', description: 'Pays.', needsConfirmation: true, run: () => 'ok' });
  const model = scriptedModel([
    { text: 'I will pay.', toolCalls: [{ name: 'pay', input: {} }] },
    'It is paid.',
  ]);
  const conversation = new Conversation(llmAgent({ name: 'a', model, tools: [pay] }));
  const { taskId } = await conversation.say('Pay');
  const { events } = await conversation.say('yes', { taskId });
  expect(events[0]).toMatchObject({
    append: true,
    artifact: { parts: [{ text: '\n\nIt is paid.' }] },
  });
});

test('what is wrong with a call is told to the model, which may do better', async () => {
  const failing = tool({
    name: 'failing',
    description: 'Fails.',
    run: () => {
      throw new Error('no such account');
    },
  });
  const model = scriptedModel([
    calls(['missing', {}], ['add', { a: 'x' }], ['failing', {}]),
    { toolCalls: [{ name: 'add', input: '{not json' }] },
    'Sorry',
  ]);
  const said = await new Conversation(llmAgent({ name: 'a', model, tools: [add, failing] })).say(
    '?',
  );
  expect(said.text).toBe('Sorry');
  const second = model.requests[1]?.promptText ?? '';
  expect(second).toContain('unknown tool "missing"');
  expect(second).toContain('the input is not valid: a: Invalid input: expected number');
  expect(second).toContain('no such account');
});

test('a tool that takes too long is abandoned, and its signal aborts', async () => {
  let aborted = false;
  const slow = tool({
    name: 'slow',
    description: 'Slow.',
    timeoutMs: 20,
    run: (_, { signal }) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
      }),
  });
  const model = scriptedModel([calls(['slow', {}]), 'Too slow']);
  const said = await new Conversation(llmAgent({ name: 'a', model, tools: [slow] })).say('Go');
  expect(said.text).toBe('Too slow');
  expect(model.requests[1]?.promptText).toContain('no result within 20 ms');
  expect(aborted).toBe(true);
});

test('results that are too long are cut', async () => {
  const long = tool({ name: 'long', description: 'Long.', run: () => 'x'.repeat(500) });
  const model = scriptedModel([calls(['long', {}]), 'ok']);
  await new Conversation(
    llmAgent({ name: 'a', model, tools: [long], maxResultCharacters: 100 }),
  ).say('Go');
  expect(model.requests[1]?.promptText).toContain('[cut after 100 of 500 characters]');
});

test('of too many calls in one answer, the rest is refused', async () => {
  let runs = 0;
  const count = tool({ name: 'count', description: 'Counts.', run: () => (runs += 1) });
  const many = Array.from({ length: 200 }, (): [string, object] => ['count', {}]);
  const model = scriptedModel([calls(...many), 'ok']);
  await new Conversation(llmAgent({ name: 'a', model, tools: [count] })).say('Go');
  expect(runs).toBe(128);
  expect(model.requests[1]?.promptText).toContain('only 128 calls');
});

test('a task ends as failed when it has used up its steps or its tokens', async () => {
  const model = () => scriptedModel(() => calls(['add', { a: 1, b: 1 }]));
  const steps = await new Conversation(
    llmAgent({ name: 'a', model: model(), tools: [add], maxIterations: 3 }),
  ).say('Go');
  expect(steps.end).toMatchObject({
    kind: 'failed',
    metadata: { error_type: 'iteration_limit', usage: { calls: 3 } },
  });
  const tokens = await new Conversation(
    llmAgent({ name: 'a', model: model(), tools: [add], maxTokens: 10 }),
  ).say('Go');
  expect(tokens.end).toMatchObject({ kind: 'failed', metadata: { error_type: 'token_budget' } });
});

test('the conversation continues with what was said before, without files and thoughts', async () => {
  const model = scriptedModel([{ text: 'Noted', reasoning: 'secret thought' }, 'Blue']);
  const conversation = new Conversation(llmAgent({ name: 'a', model }));
  await conversation.say([
    { text: 'I like blue' },
    { raw: 'AAAA', mediaType: 'image/png', filename: 'x.png' },
  ]);
  await conversation.say('What do I like?');
  expect(model.requests[1]?.messages).toEqual([
    { role: 'user', text: 'I like blue[file x.png]' },
    { role: 'assistant', text: 'Noted' },
    { role: 'user', text: 'What do I like?' },
  ]);
  expect(JSON.stringify(conversation.log)).not.toContain('secret thought');
});

test('the history is bounded by turns', async () => {
  const model = scriptedModel(() => 'ok');
  const conversation = new Conversation(llmAgent({ name: 'a', model, historyTurns: 2 }));
  for (const text of ['one', 'two', 'three', 'four']) await conversation.say(text);
  const asked = model.requests.at(-1)?.messages.filter(({ role }) => role === 'user');
  const mark = '[Earlier messages of this conversation were left out.]';
  expect(asked?.map(({ text }) => text)).toEqual([mark, 'two', 'three', 'four']);
});

test('thoughts are never shown, be they parts or tags', async () => {
  const model = scriptedModel([
    { text: '<think>hidden tags</think>\nThe answer', reasoning: 'hidden part', chunkDelayMs: 2 },
  ]);
  const { events, text } = await new Conversation(llmAgent({ name: 'a', model })).say('Hi');
  expect(text).toBe('The answer');
  expect(JSON.stringify(events)).not.toContain('hidden');
});

test('thoughts whose start was swallowed are taken back', async () => {
  const model = scriptedModel([{ text: 'leaked</think>The answer' }]);
  const said = await new Conversation(llmAgent({ name: 'a', model })).say('Hi');
  expect(said.text).toBe('The answer');
});

test('the instruction is filled from the session, by scope', async () => {
  const model = scriptedModel(['ok', 'never']);
  const agent = llmAgent({
    name: 'a',
    model,
    instruction: 'Help {user:name} with {topic}{temp:nothing?}. JSON like {"a": 1} stays.',
  });
  const conversation = new Conversation(agent);
  const first = conversation.turn('set');
  first.session?.set('user:name', 'Ada');
  first.session?.set('topic', { area: 'tax' });
  await conversation.save(first, {});
  await conversation.say('Hi');
  expect(model.requests[0]?.messages[0]).toEqual({
    role: 'system',
    text: 'Help Ada with {"area":"tax"}. JSON like {"a": 1} stays.',
  });
  const forgetful = llmAgent({ name: 'b', model, instruction: 'About {topic}' });
  await expect(new Conversation(forgetful).say('Hi')).rejects.toThrow(/state key "topic"/);
});

test('the result of an instruction function is not filled from the session', async () => {
  const model = scriptedModel(['ok']);
  const instruction = ({ message }: Turn) => `The user wrote: ${textOf(message)}`;
  const conversation = new Conversation(llmAgent({ name: 'a', model, instruction }));
  const first = conversation.turn('set');
  first.session.set('user:pin', '1234');
  await conversation.save(first, {});
  await conversation.say('My {user:pin} and {x}');
  expect(model.requests[0]?.messages[0]).toEqual({
    role: 'system',
    text: 'The user wrote: My {user:pin} and {x}',
  });
});

test('the answer is saved under the output key, and tools reach the session', async () => {
  const note = tool({
    name: 'note',
    description: 'Notes.',
    run: async (_, { session }) => {
      session.set('user:noted', true);
      return 'noted';
    },
  });
  const model = scriptedModel([calls(['note', {}]), 'The result']);
  const conversation = new Conversation(
    llmAgent({ name: 'a', model, tools: [note], outputKey: 'result' }),
  );
  await conversation.say('Go');
  const { session } = conversation.turn('later');
  expect(await session?.get('result')).toBe('The result');
  expect(await session?.get('user:noted')).toBe(true);
});

test('structured output is a data part; a model without schemas is told, and corrected', async () => {
  const output = z.object({ city: z.string(), days: z.number().int() });
  const model = scriptedModel([
    'I think Oslo',
    '```json\n{"city": "Oslo", "days": 2.5}\n```',
    '{"city": "Oslo", "days": 3}',
  ]);
  const agent = llmAgent({ name: 'a', model, output });
  const { artifacts } = await new Conversation(agent).say('Plan');
  expect(artifacts).toEqual([
    { artifactId: 'answer', parts: [{ data: { city: 'Oslo', days: 3 } }] },
  ]);
  expect(model.requests[0]?.messages[0]?.text).toContain('JSON Schema');
  expect(model.requests[2]?.lastUserText).toContain('days: Invalid input: expected int');

  const cut = { text: '{"city":', finishReason: 'length' } as const;
  for (const [answer, said] of [
    ['no', 'it is not JSON'],
    [cut, 'it is not whole (finish_reason: length)'],
  ] as const) {
    const stubborn = llmAgent({ name: 'a', model: scriptedModel(() => answer), output });
    expect((await new Conversation(stubborn).say('Plan')).end).toMatchObject({
      kind: 'failed',
      metadata: { error_type: 'invalid_output' },
      error: { code: 'INVALID_AGENT_RESPONSE', message: expect.stringContaining(said) },
    });
  }
});

test('a model with schemas gets the schema as response format', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
  } as const;
  const model = scriptedModel(['{"n": 1}'], { structuredOutput: true });
  const said = await new Conversation(llmAgent({ name: 'a', model, output: schema })).say('?');
  expect(said.artifacts[0]?.parts).toEqual([{ data: { n: 1 } }]);
  expect(model.requests[0]?.responseSchema).toEqual(schema);
  expect(model.requests[0]?.messages.map(({ role }) => role)).toEqual(['user']);
});

test('callbacks may answer for the model and for tools, and change what they say', async () => {
  const seen: string[] = [];
  const model = scriptedModel([calls(['add', { a: 1, b: 2 }], ['add', { a: 5, b: 5 }]), 'raw']);
  const agent = llmAgent({
    name: 'a',
    model,
    tools: [add],
    beforeModel: (call) => {
      seen.push(`model ${call.prompt.length}`);
      return undefined;
    },
    afterModel: (answer) => (answer.text === 'raw' ? { ...answer, text: 'polished' } : undefined),
    beforeTool: ({ input }) =>
      (input as { a: number }).a === 5 ? { result: 'blocked' } : undefined,
    afterTool: (_, output) =>
      output.type === 'value' && output.value === 3 ? { result: 'three' } : undefined,
  });
  const said = await new Conversation(agent).say('Go');
  expect(said.text).toBe('polished');
  expect(JSON.stringify(said.events)).not.toContain('raw');
  expect(seen).toEqual(['model 1', 'model 3']);
  expect(model.requests[1]?.promptText).toContain('three');
  expect(model.requests[1]?.promptText).toContain('blocked');

  const guarded = llmAgent({ name: 'a', model, beforeModel: () => ({ answer: 'Not today' }) });
  expect((await new Conversation(guarded).say('Go')).text).toBe('Not today');
});

test('a failing model is retried after its Retry-After, then the task fails with the reason', async () => {
  const busy = { error: { status: 429, headers: { 'retry-after': '0' } } };
  const model = scriptedModel([busy, 'At last']);
  const said = await new Conversation(llmAgent({ name: 'a', model })).say('Hi');
  expect(said.text).toBe('At last');

  const gone = llmAgent({
    name: 'a',
    model: scriptedModel(() => ({ error: { status: 401, message: 'wrong key sk-12345678901' } })),
  });
  const { end } = await new Conversation(gone).say('Hi');
  expect(end).toMatchObject({ kind: 'failed', metadata: { error_type: 'model_unavailable' } });
  expect(JSON.stringify(end)).not.toContain('sk-');

  const limited = llmAgent({
    name: 'a',
    model: scriptedModel(() => ({ error: { status: 429, headers: { 'retry-after': '90' } } })),
  });
  expect((await new Conversation(limited).say('Hi')).end).toMatchObject({
    parts: [{ data: { error_type: 'model_rate_limited', retry_after: 90 } }, {}],
  });
});

test('a silent model times out', async () => {
  const model = scriptedModel([{ hang: true }]);
  const agent = llmAgent({ name: 'a', model, modelTimeoutMs: 20, modelRetries: 0 });
  expect((await new Conversation(agent).say('Hi')).end).toMatchObject({
    kind: 'failed',
    metadata: { error_type: 'model_timeout' },
  });
});

test('a cancelled turn stops at once, whether the model answers or a tool runs', async () => {
  for (const reply of [{ hang: true }, calls(['hang', {}])]) {
    const controller = new AbortController();
    const hang = tool({ name: 'hang', description: 'Hangs.', run: () => new Promise(() => {}) });
    const model = scriptedModel((_request) => {
      setImmediate(() => controller.abort(new Error('stopped')));
      return reply;
    });
    const conversation = new Conversation(llmAgent({ name: 'a', model, tools: [hang] }));
    await expect(conversation.say('Go', { signal: controller.signal })).rejects.toThrow('stopped');
  }
});

test('a tool may show artifacts and words on the way, and end the turn', async () => {
  const finish = tool({
    name: 'finish',
    description: 'Ends.',
    run: async (_, { emit, endTurn }) => {
      await emit({ kind: 'working', parts: [{ text: 'wrapping up' }] });
      await emit({ artifactId: 'report', parts: [{ text: 'r' }] });
      endTurn({ escalate: true });
      return 'ok';
    },
  });
  const model = scriptedModel([{ text: 'Goodbye', toolCalls: [{ name: 'finish', input: {} }] }]);
  const said = await new Conversation(llmAgent({ name: 'a', model, tools: [finish] })).say('Bye');
  expect(said.artifacts.map(({ artifactId }) => artifactId)).toEqual(['answer', 'report']);
  expect(said.events).toContainEqual({ kind: 'working', parts: [{ text: 'wrapping up' }] });
  expect(said.end.metadata).toMatchObject({ escalate: true });
  expect(model.requests).toHaveLength(1);
});

test('stopWhen ends the turn after a step', async () => {
  const model = scriptedModel([calls(['add', { a: 1, b: 2 }]), 'never']);
  const agent = llmAgent({
    name: 'a',
    model,
    tools: [add],
    stopWhen: ({ results }) => results.some(({ output }) => output.value === 3),
  });
  expect((await new Conversation(agent).say('Go')).end.kind).toBe('completed');
  expect(model.requests).toHaveLength(1);
});

test('two tools of one name are refused', async () => {
  const agent = llmAgent({ name: 'a', model: scriptedModel([]), tools: [add, add] });
  await expect(new Conversation(agent).say('Go')).rejects.toThrow(/two tools are named "add"/);
});

test('a refusal without words fails the task', async () => {
  const model = scriptedModel([{ text: '', finishReason: 'content_filter' }]);
  expect((await new Conversation(llmAgent({ name: 'a', model })).say('Hi')).end).toMatchObject({
    kind: 'failed',
    metadata: { error_type: 'content_filter' },
  });
});

test('data, text files and images reach the model in a form it can read', async () => {
  let prompt: unknown;
  const model = scriptedModel(['ok']);
  const agent = llmAgent({
    name: 'a',
    model,
    beforeModel: (call) => {
      ({ prompt } = call);
      return undefined;
    },
  });
  await new Conversation(agent).say([
    { data: { n: 1 } },
    { raw: Buffer.from('a,b').toString('base64'), mediaType: 'text/csv', filename: 'x.csv' },
    { raw: 'AAAA', mediaType: 'image/png' },
    { raw: 'AAAA', mediaType: 'application/zip' },
    { url: 'https://example.com/a.png', mediaType: 'image/png' },
    { url: 'http://169.254.169.254/', mediaType: 'image/png' },
  ]);
  expect(prompt).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: '{"n":1}' },
        { type: 'text', text: 'x.csv:\na,b' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
        { type: 'text', text: '[file application/zip]' },
        {
          type: 'file',
          mediaType: 'image/png',
          data: { type: 'url', url: new URL('https://example.com/a.png') },
        },
        { type: 'text', text: '[file  at http://169.254.169.254/]' },
      ],
    },
  ]);
});

test.each([
  ['the limit of output tokens', 'length', 'length'],
  ['a content filter', 'content_filter', 'content-filter'],
] as const)('an answer that was cut by %s is marked and logged', async (_, sent, finishReason) => {
  const model = scriptedModel([{ text: 'Once upon a', finishReason: sent }]);
  const lines: string[] = [];
  const logger = createLogger({ level: 'warn', write: (line) => void lines.push(line) });
  const tale = llmAgent({ name: 'a', model });
  const told = await Array.fromAsync(
    tale.take({ ...new Conversation(tale).turn('A tale'), logger }),
  );
  const end = { kind: 'completed', metadata: { finish_reason: finishReason } };
  expect(told.at(-1)).toMatchObject(end);
  const line = { level: 'warn', event: 'agents.model.truncated', agent: 'a', finishReason };
  expect(lines.map((each): unknown => JSON.parse(each))).toEqual([expect.objectContaining(line)]);
});

test('an agent that reaches a limit says so to its developer', async () => {
  const model = scriptedModel(() => ({ toolCalls: [{ name: 'missing', input: {} }] }));
  const conversation = new Conversation(llmAgent({ name: 'a', model, maxIterations: 2 }));
  const { end } = await conversation.say('Go');
  expect(end).toMatchObject({
    kind: 'failed',
    error: { message: 'The agent a reached its limit of 2 steps (maxIterations).' },
  });
});

test('a prompt that is too long is asked again without the older turns, with a mark', async () => {
  const tooLong = { error: { status: 400, message: 'maximum context length is 100 tokens' } };
  const model = scriptedModel(['one', 'two', 'three', 'four', tooLong, tooLong, 'five', tooLong]);
  const conversation = new Conversation(llmAgent({ name: 'a', model }));
  for (const said of ['first', 'second', 'third', 'fourth']) await conversation.say(said);
  expect((await conversation.say('fifth')).text).toBe('five');
  const [whole, half, rest] = model.requests.slice(4).map(({ promptText }) => promptText);
  expect(whole).toContain('first');
  expect(half).toContain('Earlier messages of this conversation were left out.');
  expect(half).toContain('fourth');
  expect(half).not.toContain('first');
  expect(rest).toContain('fifth');
});

test('prepareStep chooses model, tools and tool choice of each step', async () => {
  const other = tool({ name: 'other', description: 'Other.', run: () => 1 });
  const [first, second] = [scriptedModel([calls(['add', { a: 1, b: 2 }])]), scriptedModel(['3'])];
  const seen: unknown[] = [];
  const agent = llmAgent({
    name: 'a',
    model: first,
    tools: [add, other],
    prepareStep: ({ step }) =>
      step === 0 ? { tools: ['add'], toolChoice: { tool: 'add' } } : { model: second, tools: [] },
    beforeModel: ({ toolChoice }) => void seen.push(toolChoice),
  });
  expect((await new Conversation(agent).say('1+2?')).text).toBe('3');
  expect(first.requests.map(({ tools }) => tools)).toEqual([['add']]);
  expect(second.requests.map(({ tools }) => tools)).toEqual([[]]);
  expect(seen).toEqual([{ type: 'tool', toolName: 'add' }, undefined]);
});

test('onModelError may answer in place of a model that failed', async () => {
  const model = scriptedModel([{ error: { status: 401, message: 'wrong key' } }]);
  const onModelError = (error: unknown) =>
    error instanceof LegateError ? { answer: `Sorry: ${error.code}` } : undefined;
  const { text, end } = await new Conversation(llmAgent({ name: 'a', model, onModelError })).say(
    'Hi',
  );
  expect([text, end.kind]).toEqual(['Sorry: UNAVAILABLE', 'completed']);
});

test('the history is limited by an estimate of its tokens', async () => {
  const model = scriptedModel(['one', 'two', 'three']);
  const agent = llmAgent({ name: 'a', model, historyTokens: 100 });
  const conversation = new Conversation(agent);
  await conversation.say('x'.repeat(500));
  await conversation.say('short');
  await conversation.say('last');
  expect(model.requests[2]?.promptText).toContain('short');
  expect(model.requests[2]?.promptText).not.toContain('xxx');
});
