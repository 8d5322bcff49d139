export type { TranscriptEntry } from '../tracker/index.ts';
export { cleanUp, type CleanUpOptions, type Situation } from './clean-up.ts';
export { executeCommands } from './execute.ts';
export type { ActiveCollect, AgentsView, CommandGenerator, GeneratorInput } from './generator.ts';
export { type IncomingMessage, readMessage, type ReadOptions } from './read-message.ts';
export { type Intent, readSpecial, type SpecialMessage } from './special.ts';
export { MAX_PAYLOAD_CHARACTERS, type Understanding } from './read-message.ts';
export { activeCollect, activeFlows, agentsView } from './view.ts';
