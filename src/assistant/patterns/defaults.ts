import { readFileSync } from 'node:fs';
import type { Source } from '../../config/index.ts';

/**
 * The default patterns as YAML. They are read before the project's files, which override entries with the
 * same name.
 * @example console.log(defaultFlows.text);
 */
export const defaultFlows: Source = read('default-flows.yml');
/**
 * The default responses as YAML. Responses of the project with the same name override them.
 * @example console.log(defaultResponses.text);
 */
export const defaultResponses: Source = read('default-responses.yml');

function read(name: string): Source {
  const file = `legate/${name}`;
  return { file, text: readFileSync(new URL(name, import.meta.url), 'utf8') };
}
