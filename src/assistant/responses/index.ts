export { renderVariation, type ResponseScope } from './variation.ts';
export type { Rephraser, RephraseRequest } from './responder.ts';
export {
  INTERNAL_ERROR_RESPONSE,
  Responder,
  type ResponderOptions,
  type ResponseRequest,
} from './responder.ts';
export type { ResponseWriter, WriteRequest } from './responder.ts';
export { selectVariation, type Selection } from './variation.ts';
