export { ConditionError } from './syntax.ts';
export {
  compileCondition,
  type Condition,
  type ConditionReferences,
  type SlotComparison,
} from './condition.ts';
export { type ConditionScope } from './evaluate.ts';
export { type ConditionWarning, parseCondition, type UnsupportedPattern } from './parse.ts';
export { type Predicate, printPredicate } from './syntax.ts';
export { describedPattern, requiredPattern, type ValuePattern } from './condition.ts';
