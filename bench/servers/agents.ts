/** Agents with a model that takes no time, to measure the overhead of the framework. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { llmAgent, tool } from '../../src/agents/index.ts';
import { Runner } from '../../src/tasks/index.ts';
import { serve } from '../../src/http/index.ts';
import { openStore } from '../../src/store/index.ts';
import { answerQuestions } from '../ipc.ts';

/** The requests to this process. */
export type AgentQuestion =
  | { readonly kind: 'step'; readonly runs: number; readonly isResumable: boolean }
  | { readonly kind: 'idle'; readonly sessions: number }
  | { readonly kind: 'cpu' };

const tokensPerSecond = 50;
const stepsPerRun = 10;

const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
};

function modelOf(stream: (prompt: readonly { role: string }[]) => ReadableStream): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('streams only')),
    doStream: async ({ prompt }) => ({ stream: stream(prompt) }),
  };
}

type Parts = Iterator<LanguageModelV4StreamPart> | AsyncIterator<LanguageModelV4StreamPart>;

function streamOf(parts: Parts): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** Calls a tool in every step except the last. */
const stepping = modelOf((prompt) => {
  const steps = prompt.filter(({ role }) => role === 'tool').length;
  const said: LanguageModelV4StreamPart =
    steps < stepsPerRun - 1
      ? { type: 'tool-call', toolCallId: `call${steps}`, toolName: 'noop', input: '{}' }
      : { type: 'text-delta', id: '0', delta: 'done' };
  return streamOf([said, finish].values());
});

/** Streams the due time of each token, at a steady rate. */
const ticking = modelOf((prompt) => {
  const { content } = prompt.at(-1) as unknown as { content: readonly { text: string }[] };
  const count = Number(content[0]?.text);
  return streamOf(
    (async function* (): AsyncGenerator<LanguageModelV4StreamPart> {
      const begin = performance.timeOrigin + performance.now() + Math.random() * 20;
      for (let index = 0; index < count; index += 1) {
        const due = begin + (index * 1000) / tokensPerSecond;
        await wait(Math.max(0, due - performance.timeOrigin - performance.now()));
        yield { type: 'text-delta', id: '0', delta: `${due} ` };
      }
      yield finish;
    })(),
  );
});

const noop = tool({ name: 'noop', description: 'Does nothing.', run: () => 'ok' });
const stepper = llmAgent({ name: 'stepper', model: stepping, tools: [noop] });

/**
 * CPU microseconds of one step of the loop: a model's response and a tool's result. Agents are resumable
 * by default: the journal stores their model responses and tool calls.
 */
async function step(runs: number, isResumable: boolean): Promise<number> {
  const runner = new Runner({
    agent: stepper,
    store: await openStore({ type: 'memory' }),
    isResumable,
  });
  const run = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) await runner.run({ message: 'go' });
  };
  // A warm-up until V8 has compiled the code.
  await run(runs * 4);
  const before = process.cpuUsage();
  await run(runs);
  const { user, system } = process.cpuUsage(before);
  await runner.stop();
  return (user + system) / (runs * stepsPerRun);
}

/** Heap bytes of each idle session, with its state in a file. */
async function idle(sessions: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'legate-bench-'));
  const store = await openStore({ type: 'sqlite', path: join(folder, 'store.db') });
  const runner = new Runner({ agent: stepper, store });
  const run = async (from: number, to: number): Promise<void> => {
    for (let index = from; index < to; index += 1) {
      await runner.run({ message: 'go', userId: `user ${index}` });
    }
  };
  await run(0, 200);
  const before = heap();
  await run(200, 200 + sessions);
  const bytes = heap() - before;
  await runner.stop();
  await store.close();
  await rm(folder, { recursive: true });
  return bytes / sessions;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heap(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

const { port } = await serve(llmAgent({ name: 'ticker', model: ticking }));
answerQuestions<AgentQuestion, number>(
  async (question) => {
    if (question.kind === 'step') return step(question.runs, question.isResumable);
    if (question.kind === 'idle') return idle(question.sessions);
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  { port },
);
