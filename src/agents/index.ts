export * from './agent.ts';
export {
  agent,
  type AgentOptions,
  authRequired,
  canceled,
  chunk,
  completed,
  failed,
  inputRequired,
  rejected,
  reply,
  textOf,
  working,
} from './define.ts';
