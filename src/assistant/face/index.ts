export { assistantAgent, type AssistantAgentOptions } from './assistant-agent.ts';
export { messagesIn } from './parts.ts';
export { readSeeds, type SeededMessage } from './seeding.ts';
export { skillsOf } from './skills.ts';
export { stateOf } from './state-mapper.ts';
