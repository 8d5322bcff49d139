export { stackProblems } from './check.ts';
export {
  atStep,
  COLLECT_INFORMATION,
  isFlowFrame,
  isInner,
  isPattern,
  isRoot,
  VALIDATE_SLOT,
} from './frame.ts';
export {
  frameTypeOver,
  moveToTop,
  removeFrames,
  replaceFrame,
  replaceSegment,
  withoutConversationPatterns,
  withoutPattern,
} from './operations.ts';
export {
  activeSegment,
  callChain,
  flowIds,
  isStarted,
  type Segment,
  segmentOfFlow,
  segmentsOf,
} from './segment.ts';
