export { PatternError } from './pattern-error.ts';
export {
  compilePattern,
  compilePatternInText,
  type Occurrence,
  type Pattern,
  type PatternInText,
} from './pattern.ts';
