import { Field, type Problems, type YamlFile } from '../../config/index.ts';
import type { JsonObject } from '../../protocol/index.ts';

const channels = new Set(['rest', 'inspector']);

/** credentials.yml: channels by name; those that do not exist here are named in one warning. */
export function readCredentials(
  file: YamlFile,
  problems: Problems,
): ReadonlyMap<string, JsonObject> {
  const result = new Map<string, JsonObject>();
  if (file.value === null) return result;
  const entries = Field.root(file, problems).section()?.entries() ?? [];
  const missing = entries.filter(([name]) => !channels.has(name));
  for (const [name, field] of entries) {
    if (!channels.has(name)) continue;
    const value = field.value === null ? {} : field.object();
    if (value !== undefined) result.set(name, value);
  }
  if (missing.length > 0) {
    const names = missing.map(([name]) => name).join(', ');
    missing[0]?.[1].keyWarn(`left out, there is no such channel here: ${names}`);
  }
  return result;
}
