export { type StreamPiece } from './runner.ts';
