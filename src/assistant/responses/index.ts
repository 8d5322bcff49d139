export { renderVariation, type ResponseScope } from './render.ts';
export type { Rephraser, RephraseRequest } from './rephrase.ts';
export {
  INTERNAL_ERROR_RESPONSE,
  Responder,
  type ResponderOptions,
  type ResponseRequest,
} from './responder.ts';
export type { ResponseWriter, WriteRequest } from './writer.ts';
export { selectVariation, type Selection } from './select.ts';
