export * from './bot-message.ts';
export * from './command.ts';
export * from './conversation.ts';
export * from './model.ts';
export { eventProblem } from './event-problem.ts';
export { Assistant, type AssistantOptions, type TurnRequest } from './assistant.ts';
export {
  type Action,
  type ActionCall,
  type ActionContext,
  type ActionMessage,
  ActionRejected,
  type ActionResult,
  type ActionRunner,
  defineAction,
  firstOf,
  InProcessActions,
  type InProcessOptions,
  RemoteActions,
  type RemoteActionsOptions,
  type StreamPiece,
} from './actions/index.ts';
export type {
  ActiveCollect,
  AgentsView,
  CommandGenerator,
  GeneratorInput,
} from './commands/index.ts';
export type { Call, CallHandler, CallOutcome, LeftCall } from './executor/index.ts';
export { defaultFlows, defaultResponses } from './patterns/index.ts';
export type { Rephraser, RephraseRequest } from './responses/index.ts';
export {
  appliedEvents,
  type EventDraft,
  slotSet,
  Tracker,
  formerTrackerJson,
  trackerJson,
  type TrackerState,
  type TranscriptEntry,
} from './tracker/index.ts';
export type { TurnOutcome, TurnResult } from './turn-result.ts';
export { buildAssistant, type BuildOptions, checkActions } from './build/index.ts';
export {
  type AgentInput,
  type AgentInputSlot,
  type AgentOutput,
  type AgentStatus,
  type AgentWork,
  type StructuredResult,
  type SubAgentModule,
  type SubAgentTool,
  subAgentTool,
  type SubAgentToolContext,
  type SubAgentToolOptions,
  type ToolOutput,
} from './sub-agents/index.ts';
export {
  type CaseResult,
  checkNames,
  coverageCsv,
  coverageTable,
  describeFailure,
  findTests,
  type FlowCoverage,
  junitFile,
  resultsFile,
  runTests,
  type RunTestsOptions,
  type TestCase,
  type TestReport,
} from './e2e/index.ts';
export {
  assistantAgent,
  type AssistantAgentOptions,
  messagesIn,
  readSeeds,
  type SeededMessage,
  skillsOf,
  stateOf,
} from './face/index.ts';
export { InactivityTimers, type InactivityTimersOptions } from './inactivity/index.ts';
export {
  type A2aServer,
  loadPacked,
  type LoadedProject,
  loadProject,
  packProject,
  type Project,
  type ProjectPlaces,
} from './project/index.ts';
export {
  createGenerator,
  type CreateGeneratorOptions,
  llmGenerator,
  matchingGenerator,
  type MatchingOptions,
} from './generators/index.ts';
