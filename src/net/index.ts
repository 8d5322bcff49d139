export { BodyBudgetExceeded } from './body-budget.ts';
export { type BodyLimits, defaultBodyLimits, readBytes } from './body.ts';
export { networkOf } from './network.ts';
export { readBodyOf } from './response.ts';
