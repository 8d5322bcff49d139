export * from './agent.ts';
export {
  type AgentCommand,
  type CommandHandler,
  type CommandOutcome,
  type CommandTurn,
  handleCommand,
} from './command.ts';
export {
  agent,
  type AgentFunction,
  type AgentOptions,
  authRequired,
  canceled,
  chunk,
  completed,
  failed,
  inputRequired,
  rejected,
  reply,
  working,
} from './define.ts';
export { textOf } from '../protocol/index.ts';
export { checkAgent } from './check-agent.ts';
export { drive, handsOver, isPause } from './drive.ts';
export { EventChannel } from './event-channel.ts';
export { Artifacts, type ArtifactScope, loadArtifact, type StoredArtifact } from './artifacts.ts';
export {
  type CallOutput,
  type CallResult,
  cutResult,
  type Entry,
} from './tool-loop/conversation.ts';
export { type AiSdkAgent, fromAiSdk } from './ai-sdk/from-ai-sdk.ts';
export type { CompactionOptions } from './llm/compaction.ts';
export { llmAgent } from './llm/llm-agent.ts';
export { type EmbeddingModelSource, modelLoader, type ModelSource } from './llm/model-source.ts';
export type { ToolCallInfo } from './tool-loop/call-runner.ts';
export {
  type ModelAnswer,
  modelAnswer,
  toFunctionTool,
  toModelAnswer,
  toPrompt,
} from './tool-loop/prompt.ts';
export { runToolLoop } from './tool-loop/tool-loop.ts';
export type { LlmAgentOptions, LlmCallbacks, ModelSettings, StepSettings } from './llm/options.ts';
export { noUsage, type Usage } from './usage.ts';
export { mcpTool, mcpTools, type McpToolsOptions, withSafeNames } from './mcp/mcp-tools.ts';
export { codeExecution, type CodeExecutionOptions } from './code-execution/code-execution.ts';
export {
  type FoundMemory,
  loadMemory,
  type LoadMemoryOptions,
  Memory,
  type MemoryOptions,
  type MemoryScope,
  type NewMemory,
} from './memory/memory.ts';
export { SemanticIndex } from './memory/semantic-index.ts';
export { openApiTools, type OpenApiToolsOptions } from './openapi/openapi-tools.ts';
export { LazyClient } from './remote/lazy-client.ts';
export { SignedCard } from './remote/signed-card.ts';
export { endOf, turnEvents } from './remote/remote-turn.ts';
export { remoteAgent, type RemoteAgent, type RemoteAgentOptions } from './remote/remote-agent.ts';
export { type TurnRecords, turnRecords, type TurnRecordsOptions } from './sessions/turn-records.ts';
export { type PromptMessage, type Step, stepsExtension } from './steps/step.ts';
export {
  type NewStep,
  type OpenStep,
  type StepChange,
  StepLog,
  type Steps,
} from './steps/step-log.ts';
export { readSteps, type TurnSteps } from './steps/read-steps.ts';
export type { AgentTools, AiSdkTool } from './tools/ai-sdk-tool.ts';
export { agentTool, type AgentToolOptions } from './tools/agent-tool.ts';
export { askUser } from './tools/ask-user.ts';
export type {
  Credential,
  CredentialProvider,
  CredentialRequest,
  CredentialRequirement,
} from './tools/credentials.ts';
export type { OutputOf, Schema } from './tools/schema.ts';
export {
  type Tool,
  tool,
  type ToolAnswer,
  type ToolContext,
  type ToolOptions,
  ToolPause,
  type ToolPauseOptions,
} from './tools/tool.ts';
export { onlyTools, type ToolSet, type ToolSource } from './tools/tool-set.ts';
export { exitLoop, loop, type LoopOptions, type LoopResult } from './workflow/loop.ts';
export { parallel, type ParallelOptions } from './workflow/parallel.ts';
export { route, type RouteOptions } from './workflow/route.ts';
export { type ChildResult, runChild, type RunChildOptions } from './run-child.ts';
export { sequential, type SequentialOptions } from './workflow/sequential.ts';
export {
  noPeers,
  type PeerRequest,
  type PeerResult,
  type TurnPeers,
  turnWith,
} from './turn-peers.ts';
export { inBranchOrder, type ProgressEvent } from './turn-output.ts';
