export { assistantAgent, type AssistantAgentOptions } from './a2a.ts';
export {
  endWorkCommand,
  recordCommand,
  sayCommand,
  type SayInput,
  type Spoken,
} from './conversation-commands.ts';
export { InactivityTimers, type InactivityTimersOptions } from './inactivity-timers.ts';
export { readSeeds, type SeededMessage } from './seeding.ts';
export { skillsOf } from './skills.ts';
export { stateOf } from './state-mapper.ts';
