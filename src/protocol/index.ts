export * from './card-model.ts';
export * from './model.ts';
export * from './request-model.ts';
export { artifact, data, file, message, type MessageOptions, text, toParts } from './construct.ts';
export { AnswerStream } from './answer-stream.ts';
export {
  type AnswerContent,
  answerOf,
  contentOf,
  partSize,
  shortened,
  textOf,
  textOfValue,
} from './content.ts';
export { taskFailure } from './task-failure.ts';
export { isJsonList, isJsonObject, Json } from './json.ts';
export { AnswerText, type TextChange } from './fold/answer-text.ts';
export { ContentMark } from './fold/content-mark.ts';
export { appendParts, isPlainText } from './fold/parts.ts';
export { endsTurn, taskBefore, TaskFold, taskIdsOf, taskStatusOf } from './fold/task-fold.ts';
export {
  codeOfErrorType,
  type ErrorCode,
  errorCode,
  errorMessage,
  type ErrorOptions,
  errorTable,
  type FieldViolation,
  invalidConfiguration,
  invalidParams,
  LegateError,
  taskNotFound,
  toError,
  toLegateError,
} from './errors.ts';
export { didYouMean, editDistance, suggest } from './did-you-mean.ts';
export {
  checkOptions,
  type NestedOptions,
  type ObjectWithMethods,
  type OptionNames,
  ownerOf,
} from './check-options.ts';
export { isEncryptedOrLocal } from './encrypted-or-local.ts';
export { escapeMarkup } from './escape-markup.ts';
export { LruMap } from './lru-map.ts';
export { type Operation, operationOf, operations } from './operations.ts';
export { parseJson, parseJsonOr } from './decode/parse-json.ts';
export { idProblem } from './decode/scalars.ts';
export type { Codec, Dialect } from './dialects/dialect.ts';
export { v03 } from './dialects/v03/index.ts';
export type { FileBytes } from './dialects/v03/shape.ts';
export { v03Rest, v03RestTwice } from './dialects/v03-rest/index.ts';
export { v1 } from './dialects/v1/index.ts';
export { cardProblems, isLegacyCard } from './card/card-problems.ts';
export { cardPaths, cardUrls, readAgentCard } from './card/read.ts';
export { supersetCard } from './card/superset.ts';
export { errorDetails, type ErrorProfile, statusOf, toPublicError } from './error-details.ts';
export { fromRestError, toRestError } from './rest-error.ts';
export {
  fromJsonRpcError,
  type JsonRpcId,
  JsonRpcRequestError,
  parseJsonRpcRequest,
  toJsonRpcError,
} from './json-rpc.ts';
export { negotiateVersion, type ProtocolVersion } from './version.ts';
export { sseComment, sseFrame } from './sse-frame.ts';
export { type SseEvent, SseParser } from './sse-parser.ts';
