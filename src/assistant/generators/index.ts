export { createGenerator, type CreateGeneratorOptions } from './create-generator.ts';
export {
  type CommandLanguage,
  dateTimeLine,
  llmGenerator,
  type LlmGeneratorOptions,
  parseCommands,
  type Vocabulary,
} from './llm/index.ts';
export { matchingGenerator, type MatchingOptions } from './matching/index.ts';
export { presentMoment } from './present-moment.ts';
