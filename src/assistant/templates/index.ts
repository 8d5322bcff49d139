export { TemplateError } from './tokens.ts';
export { compileTemplate, evaluateExpression } from './template.ts';
