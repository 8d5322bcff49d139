export { BodyBudgetExceeded, networkOf } from './body-budget.ts';
export { type BodyLimits, defaultBodyLimits, readBodyOf, readBytes } from './body.ts';
export { toNodeHandler } from './node-handler.ts';
