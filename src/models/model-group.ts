import { z } from 'zod';
import { isJsonObject, LegateError } from '../protocol/index.ts';

/**
 * One model of a group, with the keys of `model_groups` in endpoints.yml. Values are resolved: the
 * reader of the file checks that a secret comes from `${VARIABLE}`.
 */
const modelConfig = z.looseObject({
  provider: z.string().min(1),
  /** Optional for Azure with a `deployment`. */
  model: z.string().min(1).optional(),
  /** Base URL of the endpoint, without `/chat/completions`. */
  api_base: z.string().optional(),
  api_key: z.string().optional(),
  api_version: z.string().optional(),
  deployment: z.string().optional(),
  temperature: z.number().min(0).optional(),
  top_p: z.number().optional(),
  /** Timeout of one call, in seconds. */
  timeout: z.number().positive().optional(),
  /** Alias of `timeout`, which takes precedence. */
  request_timeout: z.number().positive().optional(),
  max_tokens: z.int().positive().optional(),
  max_completion_tokens: z.int().positive().optional(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
  seed: z.int().optional(),
  /** Whether the endpoint supports JSON schemas as response format. */
  structured_output: z.boolean().optional(),
  /** Certificate files for the endpoint. */
  tls: z
    .strictObject({
      ca: z.string().optional(),
      cert: z.string().optional(),
      key: z.string().optional(),
      passphrase: z.string().optional(),
    })
    .optional(),
  extra_headers: z.record(z.string(), z.string()).optional(),
  /** Added to the body of each request unchanged. */
  extra_body: z.record(z.string(), z.unknown()).optional(),
});

const routerConfig = z.looseObject({
  routing_strategy: z.string().optional(),
  /** Consecutive failures that start the cooldown. */
  allowed_fails: z.int().min(1).optional(),
  /** Seconds of cooldown. */
  cooldown_time: z.number().min(0).optional(),
});

const modelGroup = z.looseObject({
  id: z.string().min(1),
  models: z.array(modelConfig).min(1),
  router: routerConfig.optional(),
});

/** One model of a group, as endpoints.yml describes it. */
export type ModelConfig = z.infer<typeof modelConfig>;
/** Interchangeable models, as endpoints.yml describes them. */
export type ModelGroup = z.infer<typeof modelGroup>;

/** Keys of other engines that have no effect here. They cause no warning. */
const silentKeys = new Set(['use_chat_completions_endpoint', 'num_retries', 'api_type']);

/** A configuration error in a model of a group. */
export interface ModelMistake {
  readonly path: readonly (string | number)[];
  /** Contains the value, unless it can be a secret. */
  readonly reason: string;
}

/**
 * The configuration errors of a model, the first of each key.
 * @example modelMistakes({ provider: 'openai', timeout: 0 })[0]?.path // ['timeout']
 */
export function modelMistakes(value: unknown): readonly ModelMistake[] {
  const issues = modelConfig.safeParse(value).error?.issues ?? [];
  return issues.map((issue) => mistakeOf(issue, value));
}

function mistakeOf({ path: keys, message }: z.core.$ZodIssue, value: unknown): ModelMistake {
  const path = keys.map((key) => (typeof key === 'number' ? key : String(key)));
  const found = path.reduce<unknown>((of, key) => Reflect.get(Object(of), key), value);
  if (found === undefined || found === '') {
    return { path, reason: found === '' ? 'is empty' : 'is missing' };
  }
  const rule = message.replace(/^[A-Z][a-z ]+: /, '').replace(/, received .*$/, '');
  const isShown = typeof found !== 'object' && !/key|secret|headers/.test(path.join('.'));
  return { path, reason: isShown ? `${rule}, but is ${JSON.stringify(found)}` : rule };
}

/**
 * Validates one entry of `model_groups`; the error names the path of the invalid key.
 * @example readModelGroup({ id: 'commands', models: [{ provider: 'openai', model: 'gpt-4o' }] });
 */
export function readModelGroup(value: unknown): ModelGroup {
  const read = modelGroup.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const { path, reason } = issue ? mistakeOf(issue, value) : { path: [], reason: 'invalid' };
  const where = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  const id = isJsonObject(value) ? value['id'] : undefined;
  const name = typeof id === 'string' ? ` "${id}"` : '';
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `model group${name}: ${where.replace(/^\./, '') || 'value'}: ${reason}`,
    { metadata: { path: where } },
  );
}

/** Unknown keys of a group's models, for one warning. */
export function unknownKeys(group: ModelGroup): string[] {
  const known = new Set([...Object.keys(modelConfig.shape), ...silentKeys]);
  const found = group.models.flatMap((model) => Object.keys(model));
  return [...new Set(found)].filter((key) => !known.has(key)).toSorted();
}
