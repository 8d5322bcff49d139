export { applyEvents, MAX_SLOT_CHARACTERS } from './apply-events.ts';
export type { Call, CallHandler, CallOutcome, LeftCall } from './call-handler.ts';
export { Dialogue, type DialogueOptions, type History, type TurnFacts } from './dialogue.ts';
export { ensureSession, expiryOf } from './session.ts';
export { clearStack } from './flow-end.ts';
export { type FlowSlots, flowSlots } from './flow-slots.ts';
export {
  agentOf,
  interruptAgent,
  isAskingToContinue,
  resumeSegment,
  startFlows,
} from './interruption.ts';
export { isAtWork, leftAgents, tellAgents, workingAgents } from './agents.ts';
export { startableFlows } from './offers.ts';
export { readableName } from './offers.ts';
export { restartAgent } from './agents.ts';
export { canFollowUp, run, runBetweenSteps } from './run.ts';
export { checkSlots } from './rejections.ts';
