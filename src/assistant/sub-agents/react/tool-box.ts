import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { metaOf, selectTools } from '../../../mcp/index.ts';
import type { JsonObject, JsonValue } from '../../../protocol/index.ts';
import { until } from '../../../time/index.ts';
import type { ReactAgent } from '../../project/index.ts';
import type { McpPool } from '../mcp-pool.ts';
import type { StructuredResult, SubAgentModule } from '../model.ts';
import { timeLimit } from '../patience.ts';

/** What a tool needs to know of the moment in which it is called. */
export interface ToolMoment {
  /** Slots that the agent may see, with what it set itself. */
  readonly slots: JsonObject;
  readonly metadata: JsonObject;
  readonly signal: AbortSignal;
}

/** A tool as the loop uses it. */
export interface BoxedTool {
  readonly definition: LanguageModelV4FunctionTool;
  run(input: JsonValue, moment: ToolMoment): Promise<StructuredResult>;
}

export interface ToolBoxParts {
  readonly agent: ReactAgent;
  readonly pool: McpPool;
  readonly module: SubAgentModule;
  readonly signal: AbortSignal;
}

/** Names that only the agent itself may have. */
const reserved = /^(?:task_completed$|set_slot_)/;

/** The tools of MCP servers and of the agent's module, by the names that the model sees. */
export async function openToolBox({
  agent,
  pool,
  module,
  signal,
}: ToolBoxParts): Promise<ReadonlyMap<string, BoxedTool>> {
  const box = new Map<string, BoxedTool>();
  const put = (wanted: string, make: (name: string) => BoxedTool): void => {
    const safe = wanted.replaceAll(/[^\w-]/g, '_').slice(0, 60);
    const base = reserved.test(safe) ? `tool_${safe}` : safe;
    let name = base;
    for (let number = 2; box.has(name); number += 1) name = `${base}_${number}`;
    box.set(name, make(name));
  };
  for (const tool of module.tools ?? []) {
    put(tool.name, (name) => ({
      definition: define(name, tool.description, tool.inputSchema),
      run: (input, { metadata, slots, signal: outer }) =>
        attempt(name, agent.toolTimeout, outer, async (within) => {
          const result = await tool.run(input, { metadata, slots, signal: within });
          return (JSON.parse(JSON.stringify(result ?? null)) ?? null) as JsonValue;
        }),
    }));
  }
  for (const { name: server, includeTools, excludeTools } of agent.mcpServers) {
    const connection = pool.connection(server);
    const selection = { include: includeTools, exclude: excludeTools };
    const { metaMap } = pool.server(server);
    for (const info of await selectTools(connection, selection, { signal })) {
      put(info.name, (name) => ({
        definition: define(name, info.description, info.inputSchema),
        run: (input, { slots, signal: outer }) =>
          attempt(name, agent.toolTimeout, outer, async (within) => {
            const meta = metaOf(metaMap, (slot) => slots[slot]);
            const result = await connection.call(info, asObject(input), {
              signal: within,
              meta,
              ...(agent.toolTimeout !== undefined && { timeoutMs: agent.toolTimeout * 1000 }),
            });
            if (result.isError) throw new Error(result.text === '' ? 'it failed' : result.text);
            return result.structured ?? result.text;
          }),
      }));
    }
  }
  return box;
}

function define(
  name: string,
  description: string,
  inputSchema: JsonObject,
): LanguageModelV4FunctionTool {
  return {
    type: 'function',
    name,
    description,
    inputSchema: inputSchema as LanguageModelV4FunctionTool['inputSchema'],
  };
}

/** Whatever goes wrong with a tool is for the model to deal with; only an abort ends the run. */
async function attempt(
  name: string,
  seconds: number | undefined,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<JsonValue>,
): Promise<StructuredResult> {
  using limit = timeLimit(seconds, outer);
  try {
    const result = await until(work(limit.signal), limit.signal);
    return { name, result };
  } catch (error) {
    outer.throwIfAborted();
    const words = error instanceof Error ? error.message : 'it failed';
    return { name, result: words.slice(0, 2_000), isError: true };
  }
}

function asObject(input: JsonValue): JsonObject {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (!isObject) throw new Error('the input must be an object');
  return input as JsonObject;
}
