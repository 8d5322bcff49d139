/**
 * Assistants made of a domain, flows and patterns: loading, testing and serving projects.
 * @module
 */
export type {
  BotMessage,
  Button,
  Command,
  Extractor,
  StackFrame,
  TrackerEvent,
} from './conversation.ts';
export type { Domain, Flow, Slot, SlotType, Step } from './model.ts';
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
  type StreamPiece,
} from './actions/runner.ts';
export { InProcessActions, type InProcessOptions } from './actions/in-process.ts';
export { RemoteActions, type RemoteActionsOptions } from './actions/remote.ts';
export type {
  ActiveCollect,
  AgentsView,
  CommandGenerator,
  GeneratorInput,
} from './commands/generator.ts';
export type { Call, CallHandler, CallOutcome, AbandonedCall } from './executor/call-handler.ts';
export { defaultFlows, defaultResponses } from './patterns/defaults.ts';
export type { Rephraser, RephraseRequest } from './responses/responder.ts';
export { type EventDraft, slotSet } from './tracker/events.ts';
export { Tracker } from './tracker/tracker.ts';
export type { TranscriptEntry } from './tracker/state.ts';
export type { TurnOutcome, TurnResult } from './turn-result.ts';
export { buildAssistant, type BuildOptions, usedModelGroups } from './build/build-assistant.ts';
export { checkProject } from './build/check-project.ts';
export { type Probe, type ProbeOptions, probeServices } from './build/probe-services.ts';
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
} from './sub-agents/model.ts';
export { type CaseResult, type TestCase } from './e2e/checks.ts';
export { checkNames, findTests, withErrors } from './e2e/find-tests.ts';
export { coverageCsv, coverageTable, type FlowCoverage } from './e2e/report.ts';
export {
  describeFailure,
  failureKinds,
  junitFile,
  type ReportedTest,
  resultsFile,
} from './e2e/report.ts';
export { modelJudge } from './e2e/judge.ts';
export { runTests, type RunTestsOptions, type TestReport } from './e2e/run-tests.ts';
export { assistantAgent, type AssistantAgentOptions } from './channels/a2a.ts';
export { InactivityTimers, type InactivityTimersOptions } from './channels/inactivity-timers.ts';
export {
  type AssistantServing,
  serveAssistant,
  type ServeAssistantOptions,
} from './channels/serve-assistant.ts';
export { isPackage, loadPacked, packProject } from './project/pack.ts';
export { type LoadedProject, loadProject, type Project } from './project/load-project.ts';
export { type ProjectPlaces } from './project/project-folder.ts';
export type { KnowledgePassage, KnowledgeSearch } from './search/knowledge.ts';
export { createGenerator, type CreateGeneratorOptions } from './generators/create-generator.ts';
export { llmGenerator } from './generators/llm/llm-generator.ts';
export { type MatchingReport, matchingReport, reportText } from './generators/matching/report.ts';
export { matchingGenerator } from './generators/matching/matching-generator.ts';
export { readNumbers, type SaidNumber } from './generators/matching/values/numbers.ts';
export { type TimeUnit } from './generators/matching/values/units.ts';
export { type MatchingOptions } from './generators/matching/turn.ts';
