export { dateTimeLine } from './facts.ts';
export { llmGenerator } from './llm-generator.ts';
export { type CommandLanguage, type LlmGeneratorOptions } from './llm-generator.ts';
export { parseCommands, type Vocabulary } from './parse-commands.ts';
