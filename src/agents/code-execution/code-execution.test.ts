import { expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../models/index.ts';
import { llmAgent } from '../llm/llm-agent.ts';
import { Conversation } from '../testing/conversation.ts';
import { tool } from '../tools/tool.ts';
import { codeExecution, type CodeExecutionOptions } from './code-execution.ts';
import { runSandbox, type SandboxEnd } from './sandbox.ts';

const limits = { timeoutMs: 10_000, memoryBytes: 16 * 1024 * 1024, maxOutputLength: 500 };

function run(code: string, more: Partial<typeof limits> = {}): Promise<SandboxEnd> {
  const call = async (name: string, input: string): Promise<string> => {
    if (name === 'fail') throw new Error('no such order');
    return input;
  };
  const request = { code, ...limits, ...more, functions: ['echo', 'fail'], maxCalls: 3 };
  return runSandbox(request, { call, signal: new AbortController().signal });
}

test.concurrent.each([
  ['the last expression', '[1, 2].map((n) => n * 2)', '[2,4]'],
  ['a returned value', 'const a = 1; return { a }', '{"a":1}'],
  ['an awaited value', 'return await Promise.resolve(3)', '3'],
  ['the last expression after await', 'const a = await Promise.resolve(3); a + 1', '4'],
  ['a promise as the last expression', 'Promise.resolve([5])', '[5]'],
  ['the result of a function', 'const { a } = await echo({ a: 7 }); return a', '7'],
  [
    'a value that replaced JSON',
    'JSON.stringify = () => "9"; JSON.parse = null; ({ b: 2 })',
    '{"b":2}',
  ],
  [
    'an own __proto__, which stays data',
    `JSON.parse('{"__proto__":{"x":1}}')`,
    '{"__proto__":{"x":1}}',
  ],
  ['what toJSON says', '({ toJSON: () => "j" })', '"j"'],
])('%s is the result', async (_, code, result) => {
  expect(await run(code)).toMatchObject({ result });
});

test.concurrent.each([
  ['an error, with its line', '\nnull.x', /TypeError.*code\.js:2/s],
  ['a syntax error', 'let let = 1', /SyntaxError/],
  ['a function that fails', 'await fail({})', /no such order/],
  ['an object that is thrown', 'throw { code: 7 }', /^\{"code":7\}$/],
  ['a promise that nothing settles', 'await new Promise(() => {})', /nothing settles/],
  ['deep recursion', 'const f = () => f() + 1; f()', /call stack/],
  ['deep JSON', `JSON.parse('['.repeat(1e6))`, /call stack/],
  ['a large buffer', 'new ArrayBuffer(1e9)', /memory|length/],
  ['a long string', '"x".padEnd(2 ** 29)', /memory|too long/],
  ['a large result', '"x".repeat(1e6)', /result has 1000002 characters.*return less/s],
  ['a circular result', 'const a = {}; a.a = a; a', /circular/],
  [
    'a Proxy as the result',
    'new Proxy({}, { ownKeys() { throw new Error("no keys") } })',
    /no keys/,
  ],
  ['a Proxy that is thrown', 'throw new Proxy({}, { get() { throw 1 } })', /cannot be shown/],
  ['more calls than allowed', 'for (;;) await echo({})', /3 times/],
  ['an import', 'await import("node:fs")', /could not load module/],
  ['a network call', 'fetch("http://127.0.0.1")', /fetch is not defined/],
  ['a timer', 'setTimeout(() => {}, 1)', /setTimeout is not defined/],
  [
    'the constructor of the global object',
    'this.constructor.constructor("return process")()',
    /process is not defined/,
  ],
  [
    'the constructor of console.log',
    'console.log.constructor("return process")()',
    /process is not defined/,
  ],
  [
    'the constructor of a function',
    'echo.constructor("return require")()',
    /require is not defined/,
  ],
  [
    'the constructor of what a function returns',
    '(await echo({})).constructor.constructor("return process")()',
    /process is not defined/,
  ],
  [
    'the error of a function',
    'try { await fail({}) } catch (e) { e.constructor.constructor("return process")() }',
    /process is not defined/,
  ],
])('%s is an error', async (_, code, error) => {
  const end = await run(code);
  expect(end.error).toMatch(error);
  expect(end.error?.length).toBeLessThanOrEqual(limits.maxOutputLength);
});

test.concurrent.each([
  ['an endless loop', 'console.log("started"); for (;;) {}'],
  [
    'a regular expression that backtracks',
    'console.log("started"); /^(a+)+$/.test("a".repeat(50) + "b")',
  ],
  [
    'promises without end',
    'console.log("started"); const f = () => Promise.resolve().then(f); f(); await new Promise(() => {})',
  ],
  ['a getter of the result', 'console.log("started"); ({ get a() { for (;;) {} } })'],
  ['a toJSON of what is thrown', 'console.log("started"); throw { toJSON() { for (;;) {} } }'],
  ['printing without end', 'console.log("started"); for (;;) console.log("x".repeat(100))'],
  ['a comparison that never ends', 'console.log("started"); [2, 1].sort(() => { for (;;) {} })'],
])('%s is stopped in time, and what was printed is kept', async (_, code) => {
  const end = await run(code, { timeoutMs: 600, memoryBytes: 512 * 1024 * 1024 });
  expect(end).toMatchObject({ isLate: true, output: expect.stringContaining('started') });
  expect(end.output.length).toBeLessThanOrEqual(limits.maxOutputLength);
});

test.concurrent.each([
  ['arrays', 'const a = []; for (;;) a.push(new Array(1e4).fill(a.length))'],
  ['strings', 'const a = []; for (;;) a.push(String(a.length).repeat(1e4))'],
  ['promises', 'const a = []; for (;;) a.push(Promise.resolve().then(() => a))'],
])(
  'memory filled with %s ends the code, not the process',
  { timeout: 150_000 },
  async (_, code) => {
    const end = await run(code, { timeoutMs: 120_000 });
    expect(end.error).toMatch(/out of memory/);
  },
);

test.concurrent.each([
  ['buffers', 'new Uint8Array(2 ** 18)'],
  ['strings', '"x".repeat(2 ** 18 - a.length)'],
  ['arrays', 'new Array(2 ** 15).fill(a.length)'],
])('the memory of the sandbox bounds the bytes of %s', async (_, make) => {
  // Pieces of 256 KiB.
  const code = `const a = []; try { for (;;) a.push(${make}) } catch {} a.length`;
  const counted = async (megabytes: number): Promise<number> => {
    const memoryBytes = megabytes * 1024 * 1024;
    return Number((await run(code, { memoryBytes, timeoutMs: 120_000 })).result);
  };
  expect(await counted(32)).toBeGreaterThan(32);
  expect(await counted(32)).toBeLessThan(128);
  expect(await counted(64)).toBeLessThan(256);
});

test('the sandbox leaves the prototypes of the process alone', async () => {
  await run('Object.prototype.polluted = 1; Array.prototype.map = null; globalThis.polluted = 1');
  expect('polluted' in {}).toBe(false);
  expect('polluted' in globalThis).toBe(false);
});

test('the names of the global object are those of the language, console and the functions', async () => {
  const { result = '[]' } = await run(
    'Object.getOwnPropertyNames(globalThis).filter((name) => /^[a-z]/.test(name)).sort()',
    { maxOutputLength: 2_000 },
  );
  expect(JSON.parse(result)).toEqual([
    'console',
    'decodeURI',
    'decodeURIComponent',
    'echo',
    'encodeURI',
    'encodeURIComponent',
    'escape',
    'eval',
    'fail',
    'globalThis',
    'isFinite',
    'isNaN',
    'parseFloat',
    'parseInt',
    'performance',
    'queueMicrotask',
    'undefined',
    'unescape',
  ]);
});

test('an aborted turn ends the sandbox', async () => {
  const controller = new AbortController();
  const call = async () => {
    controller.abort(new Error('cancelled'));
    return 'null';
  };
  const request = {
    code: 'await echo({}); for (;;) {}',
    ...limits,
    functions: ['echo'],
    maxCalls: 1,
  };
  await expect(runSandbox(request, { call, signal: controller.signal })).rejects.toThrow(
    'cancelled',
  );
});

const orders = tool({
  name: 'orders',
  description: 'The orders of a customer.',
  input: z.object({ customer: z.string() }),
  isIdempotent: true,
  run: ({ customer }) => [
    { customer, total: 20 },
    { customer, total: 22 },
  ],
});

function agentOf(code: string, options: CodeExecutionOptions = {}) {
  const model = scriptedModel([
    { toolCalls: [{ name: 'run_code', input: { code } }] },
    { text: 'done' },
  ]);
  const agent = llmAgent({ name: 'analyst', model, tools: [codeExecution(options)] });
  return { model, conversation: new Conversation(agent, { subject: 'ada' }) };
}

test('a model runs code that calls the functions it is given, with checked input', async () => {
  const code = `const all = await orders({ customer: 'ada' });
    try { await orders({ customer: 5 }) } catch (error) { console.log(error.message) }
    return all.reduce((sum, { total }) => sum + total, 0);`;
  const { model, conversation } = agentOf(code, { functions: [orders] });
  await conversation.say('How much did Ada order?');
  const shown = model.requests[1]?.promptText ?? '';
  expect(shown).toContain('"result":42');
  expect(shown).toContain('invalid input of orders');
});

test('errors go to the model, which can correct its code', async () => {
  const { model, conversation } = agentOf('console.log("almost"); missing()');
  await conversation.say('Go');
  expect(model.requests[1]?.promptText).toMatch(/almost.*missing is not defined/s);
});

test('code is shown and confirmed like the input of any tool', async () => {
  const { model, conversation } = agentOf('6 * 7', { needsConfirmation: true });
  const asked = await conversation.say('Go');
  expect(JSON.stringify(asked)).toContain('6 * 7');
  await conversation.say('yes', { taskId: asked.taskId });
  expect(model.requests[1]?.promptText).toContain('"result":42');
});

test('a function that asks is refused inside of code, and when it is known before', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    needsConfirmation: true,
    run: () => 'paid',
  });
  const { model, conversation } = agentOf('return await pay({})', { functions: [pay] });
  await conversation.say('Go');
  expect(model.requests[1]?.promptText).toContain('pay needs a confirmation');
  const slow = tool({ name: 'slow', description: 'Waits.', isLongRunning: true, run: () => 1 });
  expect(() => codeExecution({ functions: [slow] })).toThrow(/"slow" waits for its caller/);
});

test('the timeout of a function ends its call inside of code', async () => {
  let isAborted = false;
  const hanging = tool({
    name: 'hanging',
    description: 'Never ends.',
    timeoutMs: 20,
    run: (_, { signal }) => {
      signal.addEventListener('abort', () => (isAborted = true));
      return new Promise<never>(() => {});
    },
  });
  const { model, conversation } = agentOf('return await hanging({})', { functions: [hanging] });
  await conversation.say('Go');
  expect(model.requests[1]?.promptText).toContain('hanging gave no result within 20 ms');
  expect(isAborted).toBe(true);
});

test('invalid options are refused', () => {
  const unknown = { timeoutMs: 5, memory: 64 };
  expect(() => codeExecution({ memoryMb: 8 })).toThrow(/memoryMb must be from 16 to 2,048/);
  expect(() => codeExecution(unknown)).toThrow(/unknown option "memory".*memoryMb/);
  expect(() => codeExecution({ timeoutMs: 0 })).toThrow(/timeoutMs must be a number above 0/);
});

test('code that fails in JSON.parse runs once', async () => {
  const end = await run('console.log("once"); JSON.parse("{")');
  expect(end).toMatchObject({ output: 'once', error: expect.stringContaining('SyntaxError') });
});

test('code that waits for a function too long is stopped, and the function is told', async () => {
  const told = Promise.withResolvers<unknown>();
  const call = async (_name: string, _input: string, signal: AbortSignal): Promise<string> => {
    signal.addEventListener('abort', () => told.resolve(signal.reason));
    return new Promise(() => {});
  };
  const code = 'console.log("waiting"); await slow({})';
  const request = { code, ...limits, timeoutMs: 100, functions: ['slow'], maxCalls: 1 };
  const end = await runSandbox(request, { call, signal: new AbortController().signal });
  expect(end).toMatchObject({ isLate: true, output: 'waiting' });
  expect(await told.promise).toMatchObject({ message: 'the code has ended' });
});
