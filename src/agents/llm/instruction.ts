import { invalidConfiguration, type JsonValue, textOfValue } from '../../protocol/index.ts';
import type { Session } from '../agent.ts';

const placeholder = /\{((?:app:|user:|temp:)?[A-Za-z_][\w.-]*)(\?)?\}/g;

/**
 * Fills `{key}` from the session: `{user:name}`, `{app:limit}`, `{temp:draft}`, `{topic}`. A missing
 * key is an error, unless it is written as `{key?}`, which is then empty. Other braces stay unchanged.
 */
export async function renderInstruction(template: string, session: Session): Promise<string> {
  const keys = new Set([...template.matchAll(placeholder)].map((match) => match[1] ?? ''));
  if (keys.size === 0) return template;
  const values = new Map<string, JsonValue | undefined>();
  for (const key of keys) values.set(key, await session.get(key));
  return template.replaceAll(placeholder, (_whole, key: string, optional: string | undefined) => {
    const value = values.get(key);
    if (value !== undefined && value !== null) return textOfValue(value);
    if (optional !== undefined) return '';
    throw invalidConfiguration(
      `the instruction needs the state key "${key}", which is not set; write {${key}?} where it may be missing`,
    );
  });
}
