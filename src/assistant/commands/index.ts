export { cleanUp, type CleanUpOptions, type Situation } from './clean-up.ts';
export { executeCommands } from './execute.ts';
export type { ActiveCollect, AgentsView, CommandGenerator, GeneratorInput } from './generator.ts';
export { type Intent, readSpecial, type SpecialMessage } from './special.ts';
export { activeCollect, activeFlows, agentsView, startableFlows } from './view.ts';
export type { TranscriptEntry } from '../tracker/index.ts';
export { orchestratorCommands } from './orchestrator.ts';
export {
  MAX_PAYLOAD_CHARACTERS,
  understand,
  type Understanding,
  type UnderstandOptions,
} from './understand.ts';
