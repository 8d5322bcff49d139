export * from './card-model.ts';
export * from './model.ts';
export * from './request-model.ts';
export { isInterrupted, isTerminal } from './task-state.ts';
export { artifact, data, file, message, type MessageOptions, text, toParts } from './construct.ts';
export { Json } from './json.ts';
export { appendParts, ContentMark, taskBefore, TaskFold } from './fold/index.ts';
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
export { type NamedOperation, type Operation, operationOf, operations } from './operations.ts';
export { type DecodeLimits, type DecodeOptions, defaultDecodeLimits } from './decode/index.ts';
export { idProblem } from './decode/index.ts';
export { parseJson, type ParseJsonOptions } from './decode/index.ts';
export { type Codec, type Dialect, v03, v03Rest, v1 } from './dialects/index.ts';
export { readAgentCard, supersetCard } from './card/index.ts';
export { errorDetails, type ErrorProfile, statusOf, toPublicError } from './error-details.ts';
export { fromJsonRpcError, type JsonRpcError, toJsonRpcError } from './json-rpc-error.ts';
export { fromRestError, type RestErrorOptions, toRestError } from './rest-error.ts';
export {
  jsonRpcFailure,
  type JsonRpcId,
  type JsonRpcRequest,
  JsonRpcRequestError,
  jsonRpcResult,
  parseJsonRpcRequest,
  parseJsonRpcResponse,
} from './json-rpc.ts';
export {
  negotiateVersion,
  type ProtocolVersion,
  protocolVersions,
  type VersionRequest,
} from './version.ts';
export { sseComment, type SseFrame, sseFrame } from './sse-frame.ts';
export { type SseEvent, SseParser, type SseParserOptions } from './sse-parser.ts';
