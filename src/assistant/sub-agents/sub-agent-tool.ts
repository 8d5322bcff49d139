import { type OutputOf, type Schema, tool } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';

/**
 * The context of a tool call.
 * @example
 * // The model cannot ask for the bookings of somebody else: it never chooses the sender.
 * const run = (_: unknown, { metadata, signal }: SubAgentToolContext) =>
 *   bookingsOf(metadata['sender_id'], { signal });
 */
export interface SubAgentToolContext {
  /** That of the agent's input; never shown to the model. */
  readonly metadata: JsonObject;
  /** The slots that are visible to the agent. */
  readonly slots: Readonly<Record<string, JsonValue>>;
  readonly signal: AbortSignal;
}

/**
 * A function that the model of a sub agent can call. Made by `subAgentTool`.
 * @example
 * const context = { metadata: {}, slots: {}, signal: AbortSignal.timeout(1_000) };
 * const tryOut = (weather: SubAgentTool) => weather.run({ city: 'Rome' }, context);
 */
export interface SubAgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
  /** Returns a JSON-serializable value. Errors are reported to the model. */
  run(input: JsonValue, context: SubAgentToolContext): Promise<unknown>;
}

/**
 * The options of a sub agent's tool.
 * @example
 * const options: SubAgentToolOptions<JsonObject> = {
 *   name: 'find_hotels', description: 'Hotels of a city that have free rooms.',
 *   input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
 *   run: ({ city }, { signal }) => hotelsIn(city, { signal }),
 * };
 */
export interface SubAgentToolOptions<S extends Schema | JsonObject> {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  readonly description: string;
  /** A zod schema, or JSON Schema. @default no input */
  readonly input?: S;
  readonly run: (input: OutputOf<S>, context: SubAgentToolContext) => unknown;
}

/**
 * A tool for the module of a sub agent.
 * @example
 * export const tools = [subAgentTool({
 *   name: 'add', description: 'Adds two numbers.',
 *   input: z.object({ a: z.number(), b: z.number() }), run: ({ a, b }) => a + b,
 * })];
 */
export function subAgentTool<const S extends Schema | JsonObject>(
  options: SubAgentToolOptions<S>,
): SubAgentTool {
  const { name, description, input, run } = options;
  const base = tool({ name, description, ...(input !== undefined && { input }), run: () => null });
  return {
    name,
    description,
    inputSchema: base.inputSchema,
    async run(given, context) {
      const parsed = await base.parse(given);
      if (!parsed.ok) throw new Error(parsed.problem);
      return run(parsed.value as OutputOf<S>, context);
    },
  };
}
