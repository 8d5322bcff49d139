import { type Field, readClientTls, type Section } from '../config/index.ts';
import { type JsonObject, type JsonValue, LegateError, isJsonObject } from '../protocol/index.ts';
import { modelMistakes, readModelGroup } from './model-group.ts';
import { isProvider } from './providers.ts';

const secrets = ['api_key', 'aws_secret_access_key', 'aws_session_token'];
const numbers = [
  'temperature',
  'top_p',
  'timeout',
  'request_timeout',
  'max_tokens',
  'max_completion_tokens',
  'seed',
];
/** Keys that have no default. An invalid value of another key is reported and replaced by the default. */
const essential = new Set(['provider', 'model', 'deployment', 'api_base', 'api_key', 'tls']);
/** Deprecated names of keys. */
const renamed: Readonly<Record<string, string>> = {
  type: 'provider',
  _type: 'provider',
  api_type: 'provider',
  model_name: 'model',
  deployment_name: 'deployment',
  engine: 'deployment',
};

/** The groups of `model_groups:`. */
export interface ModelGroups {
  /** By id, in the form that `createModel` takes. */
  readonly groups: ReadonlyMap<string, JsonObject>;
  /** Ids of groups without a supported provider. */
  readonly unsupported: ReadonlySet<string>;
}

/**
 * Reads `model_groups:` by id.
 * @example const { groups } = readModelGroups(fields);
 */
export function readModelGroups(items: readonly Field[]): ModelGroups {
  const groups = new Map<string, JsonObject>();
  const unsupported = new Set<string>();
  for (const item of items) {
    const section = item.section();
    const id = section?.require('id')?.name();
    const fields = section?.require('models')?.list();
    if (section === undefined || id === undefined || fields === undefined) continue;
    if (groups.has(id) || unsupported.has(id)) {
      section.get('id')?.error(`duplicate model group "${id}"`);
      continue;
    }
    const models = fields.flatMap((field): JsonObject[] => {
      const model = readModel(field.section());
      return model === undefined ? [] : [model];
    });
    const usable = models.filter((model) => isUsable(model));
    const group = { ...item.object(), id, models: usable };
    if (models.length > 0 && usable.length === 0) unsupported.add(id);
    else {
      groups.set(id, group);
      check(section, group);
    }
  }
  return { groups, unsupported };
}

/**
 * Reads a model; renames deprecated keys.
 * @example const model = readModel(section); // { provider: 'azure', deployment: 'gpt-5' }
 */
export function readModel(section: Section | undefined): JsonObject | undefined {
  if (section === undefined) return undefined;
  const model: Record<string, JsonValue> = {};
  for (const [key, { value }] of section.entries()) {
    const name = renamed[key] ?? key;
    // The current name takes precedence over a deprecated one.
    if (value !== null && (name === key || !section.has(name))) model[name] = value;
  }
  model['provider'] ??= model['deployment'] === undefined ? 'openai' : 'azure';
  for (const key of secrets) section.secret(key);
  // Only reports problems here: `createModel` validates the value.
  section.mapping('tls', readClientTls);
  for (const key of numbers) {
    const number = section.number(key);
    if (number === undefined) delete model[key];
    else model[key] = number;
  }
  for (const { path, reason } of modelMistakes(model)) {
    const [key = ''] = path;
    if (essential.has(String(key))) continue;
    path.reduce<Field>((of, part) => of.at(part), section.field).error(reason);
    delete model[key];
  }
  return model;
}

/**
 * Whether a model of the group can be called; does not check its other settings.
 * @example if (!isSupported(group)) warn('none of its providers can be asked');
 */
export function isSupported({ models }: JsonObject): boolean {
  return !Array.isArray(models) || models.some((model) => isJsonObject(model) && isUsable(model));
}

function isUsable({ provider, api_base: apiBase }: JsonObject): boolean {
  return typeof provider !== 'string' || isProvider(provider, apiBase);
}

function check(section: Section, group: JsonObject): void {
  try {
    readModelGroup(group);
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    const { field } = section;
    const isKnown = field.problems.all.some(({ path }) => path.startsWith(field.place.path));
    if (!isKnown) field.error(error.message);
  }
}
