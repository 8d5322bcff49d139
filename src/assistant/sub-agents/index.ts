export { createHandlers } from './create-handlers.ts';
export type {
  AgentInput,
  AgentInputSlot,
  AgentOutput,
  AgentStatus,
  AgentWork,
  StructuredResult,
  SubAgentModule,
  ToolOutput,
} from './model.ts';
export {
  type SubAgentTool,
  subAgentTool,
  type SubAgentToolContext,
  type SubAgentToolOptions,
} from './sub-agent-tool.ts';
