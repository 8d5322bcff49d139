import { basename } from 'node:path';
import type { Field, Section } from '../../config/index.ts';
import type { Use } from '../domain/uses.ts';
import { readModel } from '../../models/index.ts';

/**
 * Reads `llm: {model_group: name}`, or an inline model, which becomes a group of its own. Returns the name
 * of the group.
 */
export function readModelGroupName(
  section: Section,
  uses: Use[],
  instead: string,
  llm = section.section('llm'),
): string | undefined {
  const field = llm?.get('model_group') ?? section.get('model_group');
  if (field !== undefined) {
    const name = field.name();
    if (name !== undefined) uses.push({ kind: 'model_group', name, field, instead });
    llm?.finishLeniently();
    return name;
  }
  const model = llm && readModel(llm);
  if (llm === undefined || model === undefined) return undefined;
  if (model['model'] === undefined && model['deployment'] === undefined) {
    llm.field.keyWarn('left out: it names neither "model_group" nor "model"', {
      hint: 'describe the model under model_groups in endpoints.yml',
    });
    return undefined;
  }
  const { place } = llm.field;
  const name = `${basename(place.position.file)} ${place.path}`;
  const inline = { id: name, models: [model] };
  uses.push({ kind: 'model_group', name, field: llm.field, inline, instead });
  return name;
}

/**
 * Reads the path of a project file, records the use, and returns its key in `Project.files`. Files of a sub
 * agent can be in the agent's own folder.
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

/** Reads an IANA time zone. */
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
