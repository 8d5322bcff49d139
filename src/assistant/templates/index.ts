export { BoundedCache } from './bounded-cache.ts';
export { formatNames, renderEach, renderFormat } from './format.ts';
export { type RenderLimits, type TemplateScope } from './render.ts';
export { TemplateError } from './template-error.ts';
export {
  compileExpression,
  compileTemplate,
  evaluateExpression,
  type Template,
} from './template.ts';
export { contains, isEqual, isTruthy, member, order, toText, type Value } from './value.ts';
