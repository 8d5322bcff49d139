export { compileCondition } from './condition.ts';
