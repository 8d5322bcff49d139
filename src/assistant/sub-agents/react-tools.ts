import { mcpTool, tool, withSafeNames } from '../../agents/index.ts';
import { metaOf, selectTools } from '../../mcp/index.ts';
import { type JsonObject, type JsonValue, parseJsonOr } from '../../protocol/index.ts';
import { coerceSlotValue } from '../domain/slot.ts';
import type { Slot } from '../model.ts';
import type { ReactAgent } from '../project/sub-agents.ts';
import type { McpPool } from './mcp.ts';
import type { SubAgentModule, SubAgentTool, SubAgentToolContext } from './model.ts';

export const TASK_COMPLETED = 'task_completed';

export interface ReactToolSources {
  readonly agent: ReactAgent;
  readonly pool: McpPool;
  readonly module: SubAgentModule;
  readonly signal: AbortSignal;
}

/**
 * The tools of a sub agent by the names that the model sees: first the built-in ones, whose names
 * are reserved, then the tools of its module and of MCP servers.
 */
export async function reactTools(
  own: readonly SubAgentTool[],
  { agent, pool, module, signal }: ReactToolSources,
): Promise<ReadonlyMap<string, SubAgentTool>> {
  const found = [...own, ...(module.tools ?? [])];
  const { toolTimeout } = agent;
  for (const { name: server, includeTools, excludeTools } of agent.mcpServers) {
    const connection = pool.connection(server);
    const selection = { include: includeTools, exclude: excludeTools };
    const { metaMap } = pool.server(server);
    const policy = {
      meta: ({ slots }: SubAgentToolContext) => metaOf(metaMap, (slot) => slots[slot]),
      ...(toolTimeout !== undefined && { timeoutMs: toolTimeout * 1000 }),
    };
    for (const info of await selectTools(connection, selection, { signal }))
      found.push(mcpTool(connection, info, policy));
  }
  return new Map(withSafeNames(found).map((each) => [each.name, each]));
}

/** The tool that ends an open-ended agent. */
export const taskCompleted: SubAgentTool = lenient(
  tool<JsonObject, SubAgentToolContext>({
    name: TASK_COMPLETED,
    description: 'Says that the task is done. Write what the user should know beside the call.',
    input: { type: 'object', properties: {}, additionalProperties: false },
    run: () => 'done',
  }),
);

/** The tool that fills a slot of a task-specific agent's exit conditions. */
export function setSlotTool(slot: Slot, onSet: (value: JsonValue) => void): SubAgentTool {
  const values = slot.type === 'bool' ? ['true', 'false'] : slot.values?.map(String);
  const allowed = values === undefined ? '' : ` One of: ${values.join(', ')}.`;
  return lenient(
    tool<JsonObject, SubAgentToolContext>({
      name: `set_slot_${slot.name}`,
      description: `Stores the value of ${slot.name} (${slot.type}).${allowed}`,
      input: {
        type: 'object',
        properties: { slot_value: { type: 'string', description: 'The value, as text.' } },
        required: ['slot_value'],
        additionalProperties: false,
      },
      run: (input) => {
        const value = readSlotValue(slot, input);
        onSet(value);
        return value;
      },
    }),
  );
}

/** Accepts any input: `run` reports what is wrong with it. */
function lenient(strict: SubAgentTool): SubAgentTool {
  return { ...strict, parse: async (value) => ({ ok: true, value }) };
}

/** Converts a model's value to the slot's type. Throws errors that are written for the model. */
export function readSlotValue(slot: Slot, input: JsonValue): JsonValue {
  const given =
    typeof input === 'object' && input !== null && 'slot_value' in input
      ? (input.slot_value ?? null)
      : null;
  const text = typeof given === 'string' ? given.trim() : given;
  if (text === null || text === '') throw new Error('slot_value is missing');
  const coerced = coerceSlotValue(slot, parsedFor(slot, text));
  if (coerced.ok) return coerced.value;
  const values =
    slot.values === undefined ? '' : `; use one of ${slot.values.map(String).join(', ')}`;
  throw new Error(`${slot.name} takes no such value: it is ${slot.type}${values}`);
}

/** Models also send lists and objects as JSON strings. */
function parsedFor({ type }: Slot, text: JsonValue): JsonValue {
  if (typeof text !== 'string' || (type !== 'list' && type !== 'any')) return text;
  return parseJsonOr(text, text);
}
