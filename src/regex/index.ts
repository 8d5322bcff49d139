export { PatternError } from './pattern.ts';
export {
  compilePattern,
  compilePatternInText,
  type Pattern,
  type PatternInText,
} from './pattern.ts';
export { splitPatterns } from './schema-patterns.ts';
