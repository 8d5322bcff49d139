import type { Field, Section } from '../config/index.ts';
import { type JsonObject, type JsonValue, LegateError, isJsonObject } from '../protocol/index.ts';
import { readModelGroup } from './model-group.ts';

const secrets = ['api_key', 'aws_secret_access_key', 'aws_session_token'];
const numbers = ['temperature', 'top_p', 'timeout', 'max_tokens', 'max_completion_tokens', 'seed'];

/**
 * `model_groups:` by id, as models are made from them.
 * @example const groups = readModelGroups(Field.document(file, problems).list('model_groups'));
 */
export function readModelGroups(items: readonly Field[]): ReadonlyMap<string, JsonObject> {
  const groups = new Map<string, JsonObject>();
  for (const item of items) {
    const section = item.section();
    const id = section?.require('id')?.name();
    const models = section?.require('models')?.list();
    if (section === undefined || id === undefined || models === undefined) continue;
    const group = {
      ...(isJsonObject(item.value) && item.value),
      id,
      models: models.flatMap(readModel),
    };
    if (groups.has(id)) section.get('id')?.error(`a group named "${id}" is there already`);
    else groups.set(id, group);
    check(section, group);
  }
  return groups;
}

function readModel(item: Field): readonly JsonObject[] {
  const section = item.section();
  if (section === undefined) return [];
  section.require('provider', 'such as openai, azure, ollama or self-hosted');
  const model: Record<string, JsonValue> = { ...(isJsonObject(item.value) && item.value) };
  for (const key of secrets) section.secret(key);
  for (const key of numbers) {
    const number = section.number(key);
    if (number !== undefined) model[key] = number;
  }
  return [model];
}

/** The rest is for the models to judge. */
function check(section: Section, group: JsonObject): void {
  try {
    readModelGroup(group);
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    const isKnown = section.field.problems.errors.some(({ path }) =>
      path.startsWith(section.field.place.path),
    );
    if (!isKnown) section.field.error(error.message);
  }
}
