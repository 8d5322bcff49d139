export { type Action, type ActionContext, defineAction } from './runner.ts';
export { InProcessActions, type InProcessOptions } from './in-process.ts';
export { MessageStream } from './runner.ts';
export { readBounded } from './read-result.ts';
export { readActionResult, readResponse } from './read-result.ts';
export { RemoteActions, type RemoteActionsOptions } from './remote.ts';
export {
  type ActionCall,
  type ActionMessage,
  ActionRejected,
  type ActionResult,
  type ActionRunner,
  firstOf,
  type StreamPiece,
} from './runner.ts';
