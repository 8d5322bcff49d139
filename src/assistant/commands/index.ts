export type {
  ActiveCollect,
  AgentsView,
  CommandGenerator,
  GeneratorInput,
  TranscriptEntry,
} from './generator.ts';
