import { describe, expect, test } from 'vitest';
import { llmAgent, tool } from '../../src/agents/index.ts';
import { Conversation } from '../../src/agents/testing/conversation.ts';
import { subAgentTool } from '../../src/assistant/sub-agents/model.ts';
import { start } from '../../src/assistant/testing/conversation.ts';
import { type ScriptedReply, type ScriptedRequest, scriptedModel } from '../../src/models/index.ts';
import type { JsonObject } from '../../src/protocol/index.ts';
import { startTelemetry } from '../../src/telemetry/index.ts';
import { reactTalk } from '../sub-agents/support.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';

/** A tool of the script, whichever agent has it. */
interface Work {
  readonly name: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly run: (input: JsonObject, context: { readonly signal: AbortSignal }) => unknown;
}

interface Told {
  readonly text: string;
  readonly requests: readonly ScriptedRequest[];
}

interface Limits {
  readonly toolTimeoutMs?: number;
  readonly maxIterations?: number;
}

type Play = (replies: ScriptedReply[], tools: readonly Work[], limits?: Limits) => Promise<Told>;

const playLlm: Play = async (replies, tools, limits = {}) => {
  const model = scriptedModel(replies);
  const agent = llmAgent({ name: 'a', model, tools: tools.map((each) => tool(each)), ...limits });
  const { text } = await new Conversation(agent).say('go');
  return { text, requests: model.requests };
};

/** Modules of sub agents are files: this one finds its tools here. */
const shared = Symbol.for('legate.test.tool-loop');

const playReact: Play = async (replies, tools, { toolTimeoutMs, maxIterations } = {}) => {
  Object.assign(globalThis, { [shared]: tools.map((each) => subAgentTool(each)) });
  const timeout = toolTimeoutMs === undefined ? '' : `, tool_timeout: ${toolTimeoutMs / 1000}`;
  const iterations = maxIterations === undefined ? '' : `, max_iterations: ${maxIterations}`;
  await using talk = await reactTalk(replies, {
    configuration: `, module: ./agent.ts${timeout}${iterations}`,
    files: {
      'sub_agents/finder/agent.ts': `export const tools = globalThis[Symbol.for('${String(shared.description)}')];`,
    },
  });
  const said = await talk.chat.say('advice', start('chat'));
  return { text: said.at(-1) ?? '', requests: [...talk.model.requests] };
};

const anything: JsonObject = { type: 'object', properties: {} };
const numbered: JsonObject = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
};

function work(name: string, run: Work['run'], input = anything): Work {
  return { name, description: name, input, run };
}

function calls(...list: readonly [name: string, input: JsonObject][]): ScriptedReply {
  const toolCalls = list.map(([name, input], index) => ({ name, input, id: `call_${index}` }));
  return { toolCalls };
}

describe.each([
  { policy: 'an agent with a language model', play: playLlm },
  { policy: 'a ReAct sub agent', play: playReact },
])('the tool loop of $policy', ({ play }) => {
  test('results follow their calls in order, whichever tool is done first', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = work('slow', () => gate.promise.then(() => 'result of the slow one'));
    const quick = work('quick', () => {
      gate.resolve();
      return 'result of the quick one';
    });
    const { text, requests } = await play(
      [calls(['slow', {}], ['quick', {}]), 'Both are done'],
      [slow, quick],
    );
    expect(text).toBe('Both are done');
    const prompt = requests[1]?.promptText ?? '';
    expect(prompt.indexOf('slow one')).toBeGreaterThan(0);
    expect(prompt.indexOf('slow one')).toBeLessThan(prompt.indexOf('quick one'));
  });

  test('an input that does not fit the schema never reaches the tool', async () => {
    const seen: unknown[] = [];
    const double = work('double', ({ n }) => seen.push(n), numbered);
    const { requests } = await play(
      [calls(['double', { n: 'many' }]), calls(['double', { n: 2 }]), 'Done'],
      [double],
    );
    expect(seen).toEqual([2]);
    expect(requests[1]?.promptText).toContain('the input is not valid: n: Invalid input');
  });

  test('what fails, and what does not exist, is told to the model', async () => {
    const failing = work('failing', () => {
      throw new Error('no such account');
    });
    const { text, requests } = await play(
      [calls(['failing', {}], ['missing', {}]), 'Sorry'],
      [failing],
    );
    expect(text).toBe('Sorry');
    expect(requests[1]?.promptText).toContain('no such account');
    expect(requests[1]?.promptText).toMatch(/unknown tool \\?"missing/);
  });

  test('at most 8 tools run at one time, and all of them run', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const busy = work('busy', async () => {
      running += 1;
      runs += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    });
    const many = Array.from({ length: 12 }, (): [string, JsonObject] => ['busy', {}]);
    await play([calls(...many), 'Done'], [busy]);
    expect([most, runs]).toEqual([8, 12]);
  });

  test('a tool that takes too long is abandoned, and its signal aborts', async () => {
    const aborted = Promise.withResolvers<void>();
    const endless = work('endless', (_, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve());
      return new Promise(() => {});
    });
    const { text, requests } = await play([calls(['endless', {}]), 'Too slow'], [endless], {
      toolTimeoutMs: 20,
    });
    await aborted.promise;
    expect(text).toBe('Too slow');
    expect(requests[1]?.promptText).toContain('no result within 20 ms');
  });

  test('tools and answers of the model are traced and counted', async () => {
    await using collector = await OtlpCollector.open();
    await using telemetry = await startTelemetry({ otlp: { endpoint: collector.endpoint } });
    await play([calls(['counted', {}]), 'Done'], [work('counted', () => 'ok')]);
    await telemetry.flush();
    const spans = collector.spans.map(({ name }) => name);
    expect(spans.filter((name) => /^(?:chat|execute_tool) /.test(name)).toSorted()).toEqual([
      'chat scripted',
      'chat scripted',
      'execute_tool counted',
    ]);
    expect(await telemetry.prometheus()).toContain('legate_tool_calls_total{tool="counted"');
  });

  test('the model is asked no more often than the limit allows, but for last words', async () => {
    let runs = 0;
    const again = work('again', () => (runs += 1));
    const replies = Array.from({ length: 4 }, () => calls(['again', {}]));
    const { requests } = await play(replies, [again], { maxIterations: 2 });
    expect(runs).toBe(2);
    expect(requests.filter(({ tools }) => tools.length > 0)).toHaveLength(2);
  });
});
