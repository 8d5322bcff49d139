export { stackProblems } from './check.ts';
export {
  atStep,
  COLLECT_INFORMATION,
  isFlowFrame,
  isInner,
  isPattern,
  isRoot,
  VALIDATE_SLOT,
} from './stack.ts';
export {
  frameTypeOver,
  moveToTop,
  removeFrames,
  replaceFrame,
  replaceSegment,
  withoutConversationPatterns,
  withoutPattern,
} from './stack.ts';
export {
  activeSegment,
  callChain,
  flowIds,
  isStarted,
  type Segment,
  segmentOfFlow,
  segmentsOf,
} from './stack.ts';
