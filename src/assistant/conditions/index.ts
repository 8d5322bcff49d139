export { ConditionError } from './condition-error.ts';
export {
  compileCondition,
  type Condition,
  type ConditionReferences,
  type SlotComparison,
} from './condition.ts';
export { type ConditionScope } from './evaluate.ts';
export { type ConditionWarning, parseCondition } from './parse.ts';
export { compilePattern, type Pattern } from './pattern.ts';
export { type Predicate, printPredicate } from './syntax.ts';
