import type { Field, Section } from '../../config/index.ts';
import type { Use } from '../domain/uses.ts';

/** An absolute http or https URL without credentials in it. */
export function readUrl(field: Field | undefined): string | undefined {
  const text = field?.name();
  if (field === undefined || text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    field.error('must be a URL that begins with http:// or https://');
    return undefined;
  }
  if (url.username === '' && url.password === '') return text;
  field.error('must not hold a user name or a password', 'configure authentication instead');
  return undefined;
}

/** `llm: {model_group: name}`. */
export function readModelGroupName(section: Section, uses: Use[]): string | undefined {
  const llm = section.section('llm');
  if (llm === undefined) return undefined;
  const field = llm.get('model_group');
  const name = field?.name();
  if (field === undefined || name === undefined) {
    llm.entries();
    llm.field.keyError('"model_group" is missing', {
      hint: 'describe the model under model_groups in endpoints.yml',
    });
    return undefined;
  }
  uses.push({ kind: 'model_group', name, field });
  llm.finish();
  return name;
}

/**
 * The path of a file of the project, noted as needed; answers its key in `Project.files`. What an
 * agent refers to may lie in the agent's own folder.
 */
export function readFilePath(
  field: Field | undefined,
  as: 'template' | 'card',
  uses: Use[],
  agentFolder?: string,
): string | undefined {
  const path = field?.name();
  if (field === undefined || path === undefined) return undefined;
  const key = agentFolder === undefined ? path : `sub_agents/${agentFolder}/${path}`;
  uses.push({ kind: 'file', key, path, as, field });
  return key;
}

/** An IANA time zone. */
export function readTimezone(section: Section): string {
  const field = section.get('timezone');
  const name = field?.name();
  if (name === undefined) return 'UTC';
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    field?.error('is not a time zone', 'write one like Europe/Berlin');
    return 'UTC';
  }
}
