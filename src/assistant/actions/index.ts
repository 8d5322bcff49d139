export {
  type ActionCall,
  type ActionMessage,
  ActionRejected,
  type ActionResult,
  type ActionRunner,
  type StreamPiece,
} from './runner.ts';
