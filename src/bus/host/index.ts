export { announceOnce, type AnnounceOnceOptions } from './announcer.ts';
export {
  declareAgentQueue,
  type HostOptions,
  type HostOutcome,
  type Hosting,
  hostOnBus,
} from './host.ts';
export {
  skillAgent,
  type SkillAgentOptions,
  type SkillDefinition,
  type SkillHandler,
} from './skill-agent.ts';
export type { SkillConversation } from './skill-conversation.ts';
