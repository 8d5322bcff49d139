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
export { type Operation, operations } from './operations.ts';
export { type DecodeLimits, type DecodeOptions, defaultDecodeLimits } from './decode/index.ts';
export { parseJson, type ParseJsonOptions } from './decode/index.ts';
export { type Codec, type Dialect, v03, v03Rest, v1 } from './dialects/index.ts';
export { readAgentCard, supersetCard } from './card/index.ts';
