export { matchingGenerator } from './matching-generator.ts';
export { type MatchingOptions } from './turn.ts';
