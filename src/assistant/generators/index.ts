export { createGenerator, type CreateGeneratorOptions } from './create-generator.ts';
export {
  type CommandLanguage,
  llmGenerator,
  type LlmGeneratorOptions,
  parseCommands,
  type Vocabulary,
} from './llm/index.ts';
export { matchingGenerator, type MatchingOptions } from './matching/index.ts';
