import { isJsonObject, type JsonObject, type Part } from '../../../src/protocol/index.ts';

/** A form that an agent requests. */
export interface FormSchema {
  readonly title: string;
  readonly fields: readonly FormField[];
}

export interface FormField {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'date';
  readonly choices: readonly string[];
  readonly isRequired: boolean;
  readonly initial: string;
}

const maxFields = 50;

/**
 * The form in the parts of a message: a JSON schema of an object, by itself or as `form`, `schema` or
 * `inputSchema` of a data part.
 */
export function formIn(parts: readonly Part[]): FormSchema | undefined {
  for (const { data } of parts) {
    if (!isJsonObject(data)) continue;
    for (const candidate of [data['form'], data['schema'], data['inputSchema'], data]) {
      const form = isJsonObject(candidate) ? read(candidate, data['form_data']) : undefined;
      if (form !== undefined) return form;
    }
  }
  return undefined;
}

function read(schema: JsonObject, values: unknown): FormSchema | undefined {
  const { properties, required, title } = schema;
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return undefined;
  const needed = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties)
    .filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]))
    .slice(0, maxFields)
    .map(([name, property]) => {
      const value = isJsonObject(values) ? values[name] : property['default'];
      return {
        name,
        title: textOf(property['title']) || name.replaceAll('_', ' '),
        description: textOf(property['description']),
        ...kindOf(property),
        isRequired: needed.includes(name),
        initial: scalarText(value),
      };
    });
  return fields.length === 0 ? undefined : { title: textOf(title), fields };
}

function kindOf(property: JsonObject): Pick<FormField, 'kind' | 'choices'> {
  const choices = Array.isArray(property['enum']) ? property['enum'].map(String) : [];
  if (choices.length > 0) return { kind: 'choice', choices };
  const { type, format } = property;
  if (type === 'boolean') return { kind: 'boolean', choices };
  if (type === 'number' || type === 'integer') return { kind: 'number', choices };
  return { kind: format === 'date' ? 'date' : 'text', choices };
}

/** The values of the form in the requested types; omits empty fields. */
export function answerOf(
  { fields }: FormSchema,
  values: Readonly<Record<string, string>>,
): Record<string, string | number | boolean> {
  const answer: Record<string, string | number | boolean> = {};
  for (const { name, kind } of fields) {
    const value = values[name] ?? '';
    if (kind === 'boolean') answer[name] = value === 'true';
    else if (value !== '') answer[name] = kind === 'number' ? Number(value) : value;
  }
  return answer;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function scalarText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
