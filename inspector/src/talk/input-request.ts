import { isJsonObject, type JsonObject, type Part } from '../../../src/protocol/index.ts';
import { textIn } from '../ui/text.ts';

/** A clickable answer. */
export interface Choice {
  readonly title: string;
  readonly payload: string;
}

/** The buttons and quick replies that an assistant offers with a part. */
export function choicesOf(part: Part): readonly Choice[] {
  const carrier: unknown = part.text === undefined ? part.data : part.metadata;
  const extras = isJsonObject(carrier) ? carrier['message'] : undefined;
  if (!isJsonObject(extras)) return [];
  return [extras['buttons'], extras['quickReplies']]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((entry: unknown) => {
      if (!isJsonObject(entry) || typeof entry['title'] !== 'string') return [];
      const { title, payload } = entry;
      return [{ title, payload: typeof payload === 'string' ? payload : title }];
    });
}

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
      const form = isJsonObject(candidate) ? readForm(candidate, data['form_data']) : undefined;
      if (form !== undefined) return form;
    }
  }
  return undefined;
}

function readForm(schema: JsonObject, values: unknown): FormSchema | undefined {
  const { properties, required, title } = schema;
  if (!isJsonObject(properties)) return undefined;
  const fields = Object.entries(properties)
    .slice(0, maxFields)
    .flatMap(([name, property]) => {
      if (!isJsonObject(property)) return [];
      const value = isJsonObject(values) ? values[name] : property['default'];
      return {
        name,
        title: textIn(property['title']) || name.replaceAll('_', ' '),
        description: textIn(property['description']),
        ...kindOf(property),
        isRequired: Array.isArray(required) && required.includes(name),
        initial: typeof value === 'object' ? '' : String(value ?? ''),
      };
    });
  return fields.length === 0 ? undefined : { title: textIn(title), fields };
}

function kindOf({ enum: values, type, format }: JsonObject): Pick<FormField, 'kind' | 'choices'> {
  const choices = Array.isArray(values) ? values.map(String) : [];
  if (choices.length > 0) return { kind: 'choice', choices };
  if (type === 'boolean') return { kind: 'boolean', choices };
  if (type === 'number' || type === 'integer') return { kind: 'number', choices };
  return { kind: format === 'date' ? 'date' : 'text', choices };
}

/** The values of a submitted form. */
export type FormAnswer = Readonly<Record<string, string | number | boolean>>;

/** The values of the form in the requested types; omits empty fields. */
export function answerOf(
  { fields }: FormSchema,
  values: Readonly<Record<string, string>>,
): FormAnswer {
  const answer: Record<string, string | number | boolean> = {};
  for (const { name, kind } of fields) {
    const value = values[name] ?? '';
    if (kind === 'boolean') answer[name] = value === 'true';
    else if (value !== '') answer[name] = kind === 'number' ? Number(value) : value;
  }
  return answer;
}
