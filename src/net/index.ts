export {
  BodyBudgetExceeded,
  type BodyLimits,
  defaultBodyLimits,
  networkOf,
  parsedBody,
  readBodyOf,
  readBytes,
} from './body.ts';
export { toFetchHandler } from './fetch-handler.ts';
export { toNodeHandler } from './node-handler.ts';
