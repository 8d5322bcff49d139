export {
  BodyBudgetExceeded,
  type BodyLimits,
  defaultBodyLimits,
  networkOf,
  readBodyOf,
  readBytes,
} from './body.ts';
export { toNodeHandler } from './node-handler.ts';
