export type { ActiveCollect, AgentsView, CommandGenerator, GeneratorInput } from './generator.ts';
export type { TranscriptEntry } from '../tracker/index.ts';
