import { readFileSync } from 'node:fs';
import type { Source } from '../../config/index.ts';

/**
 * The default patterns as flows, and what they say as responses: texts for the loaders, to be read
 * before the project's own files, which replace what they repeat.
 * @example console.log(defaultFlows.text);
 */
export const defaultFlows: Source = read('default-flows.yml');
/**
 * Responses that every assistant has, unless it has its own.
 * @example console.log(defaultResponses.text);
 */
export const defaultResponses: Source = read('default-responses.yml');

function read(name: string): Source {
  const file = `legate/${name}`;
  return { file, text: readFileSync(new URL(name, import.meta.url), 'utf8') };
}
