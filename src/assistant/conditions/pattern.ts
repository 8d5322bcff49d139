import { compilePattern, type Pattern } from '../../regex/index.ts';
import { BoundedCache } from '../templates/index.ts';

const patterns = new BoundedCache<Pattern>(1_000);

/**
 * A compiled pattern, kept for the next evaluation.
 * @throws {PatternError} when the engine can't compile it.
 */
export function patternOf(source: string, flags = ''): Pattern {
  return patterns.get(`${flags}/${source}`, () => compilePattern(source, flags));
}
