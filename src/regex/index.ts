export { PatternError } from './pattern-error.ts';
export {
  compilePattern,
  compilePatternInText,
  type Occurrence,
  type Pattern,
  type PatternInText,
} from './pattern.ts';
export { splitPatterns, type SplitSchema } from './schema-patterns.ts';
