export { BoundedCache } from './bounded-cache.ts';
export { formatNames, renderEach, renderFormat } from './template.ts';
export type { TemplateScope } from './evaluator.ts';
export { TemplateError } from './tokens.ts';
export {
  compileExpression,
  compileTemplate,
  evaluateExpression,
  type Template,
} from './template.ts';
export { contains, isEqual, isTruthy, member, order, toText, type Value } from './value.ts';
