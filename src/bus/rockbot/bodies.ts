/**
 * The bodies of RockBot's messages: camelCase JSON, states as integers. Names are read in any case, as
 * RockBot reads them.
 */
import { z } from 'zod';
import {
  idProblem,
  isJsonObject,
  type JsonValue,
  parseJson,
  type TaskState,
} from '../../protocol/index.ts';
import { maxIdBytes } from '../transport/checks.ts';

/** The type of an envelope is the full name of its class. */
const prefix = 'RockBot.A2A.';
export const rockbotTypes = {
  request: `${prefix}AgentTaskRequest`,
  result: `${prefix}AgentTaskResult`,
  error: `${prefix}AgentTaskError`,
  status: `${prefix}AgentTaskStatusUpdate`,
  cancel: `${prefix}AgentTaskCancelRequest`,
  card: `${prefix}AgentCard`,
} as const;

/** Indexed by RockBot's integers. */
const states = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
] as const satisfies readonly TaskState[];

/** The closest state for each state that RockBot lacks. */
const related: Partial<Record<TaskState, (typeof states)[number]>> = {
  TASK_STATE_AUTH_REQUIRED: 'TASK_STATE_INPUT_REQUIRED',
  TASK_STATE_REJECTED: 'TASK_STATE_FAILED',
};

export function stateNumber(state: TaskState): number {
  const nearest = related[state] ?? state;
  const known = states.findIndex((each) => each === nearest);
  return known === -1 ? states.indexOf('TASK_STATE_FAILED') : known;
}

const text = z.string().max(1_000_000);
const id = z.string().min(1).max(1_000);
/** Becomes the correlation id of answers. */
const taskId = z
  .string()
  .min(1)
  .superRefine((given, context) => {
    const isTooLong = Buffer.byteLength(given) > maxIdBytes;
    const problem = isTooLong ? `must be at most ${maxIdBytes} bytes` : idProblem(given);
    if (problem !== undefined) context.addIssue(problem);
  });
const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((it) => it ?? undefined);

const state = z
  .union([z.number().int(), z.string()])
  .transform((given, context): (typeof states)[number] => {
    // Newer serializers may write names.
    const folded = String(given).toLowerCase();
    const found =
      typeof given === 'number'
        ? states[given]
        : states.find(
            (each) => each.slice('TASK_STATE_'.length).replace('_', '').toLowerCase() === folded,
          );
    if (found !== undefined) return found;
    context.addIssue('is not a state');
    return z.NEVER;
  });

const part = z.object({
  kind: z.string().max(100).default('text'),
  text: optional(text),
  data: optional(text),
  mimeType: optional(z.string().max(200)),
});
export type RockbotPart = z.infer<typeof part>;

const strings = optional(z.record(z.string(), z.string()));

const message = z.object({
  role: z.string().max(100).default('user'),
  parts: z.array(part).max(1_000),
  metadata: strings,
});
export type RockbotMessage = z.infer<typeof message>;

export const requestBody = z.object({
  taskId,
  contextId: optional(id),
  skill: z.string().max(1_000).default(''),
  message,
  metadata: strings,
});

const artifact = z.object({
  name: text,
  description: optional(text),
  parts: z.array(part).max(1_000),
});

export const resultBody = z.object({
  taskId,
  contextId: optional(id),
  state,
  artifacts: optional(z.array(artifact).max(1_000)),
  message: optional(message),
});

export const statusBody = z.object({
  taskId,
  contextId: optional(id),
  state,
  message: optional(message),
});

export const errorBody = z.object({
  taskId,
  contextId: optional(id),
  code: z.string().max(200),
  message: text,
  isRetryable: z.boolean().default(false),
});

export const cancelBody = z.object({ taskId, contextId: optional(id) });

const skill = z.object({
  id,
  name: optional(text),
  description: optional(text),
  tags: optional(z.array(text)),
  examples: optional(z.array(text)),
});

export const cardBody = z.object({
  agentName: id,
  description: optional(text),
  version: optional(text),
  skills: optional(z.array(skill).max(1_000)),
  url: optional(z.string().max(2_000)),
  protocolVersion: optional(z.string().max(100)),
  supportsStreaming: optional(z.boolean()),
  isDeregistering: z.boolean().default(false),
});

/** The A2A body of the message, for receivers that support A2A: RockBot ignores it. */
export const ownBodyKey = 'legateBody';
const ownBody = z.object({ [ownBodyKey]: z.string().optional() });

/** The A2A body inside of a RockBot body, if there is one. */
export function ownBodyOf(body: string): string | undefined {
  return ownBody.safeParse(parseJson(body)).data?.[ownBodyKey];
}

/** Decodes a body. Throws a `ZodError`, or an error for text that is not JSON. */
export function readBody<T>(schema: z.ZodType<T>, body: string): T {
  return schema.parse(camelCased(parseJson(body)));
}

/** RockBot reads names in any case; ours start with a lower-case letter. */
function camelCased(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(camelCased);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`,
      // Names in here are the sender's own.
      name.toLowerCase() === 'metadata' ? inner : camelCased(inner ?? null),
    ]),
  );
}
