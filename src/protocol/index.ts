export * from './model.ts';
export { isInterrupted, isTerminal } from './task-state.ts';
export { artifact, data, file, message, type MessageOptions, text, toParts } from './construct.ts';
export { Json } from './json.ts';
export {
  type ErrorCode,
  type ErrorOptions,
  errorTable,
  type FieldViolation,
  type GrpcStatus,
  invalidParams,
  LegateError,
  taskNotFound,
  toLegateError,
} from './errors.ts';
