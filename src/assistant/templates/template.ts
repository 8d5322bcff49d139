import { TextError } from '../../config/index.ts';
import { type JsonValue, LruMap } from '../../protocol/index.ts';
import { type Expression, parseExpression } from './expression.ts';
import { Rendering, type RenderLimits, type TemplateScope } from './rendering.ts';
import { parseTemplate } from './statement.ts';
import { Names, scan, Tokens } from './tokens.ts';
import { toText } from './value.ts';

/** A parsed template. It is immutable. */
export interface Template {
  readonly text: string;
  /** The paths it reads from its scope: `slots.amount`, `context.name`. */
  readonly references: readonly string[];
  /** @throws {TextError} if the values are unsuitable, or the result exceeds the limits. */
  render(scope: TemplateScope, limits?: Partial<RenderLimits>): string;
}

/** Maximum length of a template, in characters. */
const maximumLength = 1_000_000;

const templates = new LruMap<Template>(1_000);
const expressions = new LruMap<Expression>(1_000);

/**
 * Parses a template in Jinja syntax; parsed templates are cached.
 * @example compileTemplate('Hello {{ slots.name | title }}!').render({ slots: { name: 'ann' } })
 * @throws {TextError} with the position of the error.
 */
export function compileTemplate(text: string): Template {
  return templates.getOrMake(text, () => {
    if (text.length > maximumLength) throw new TextError('', 0, 'the template is too long');
    const { render, references } = parseTemplate(text);
    return {
      text,
      references,
      render: (scope, limits) => new Rendering(scope, limits).run(text, render),
    };
  });
}

/**
 * Evaluates one expression and returns its value, not its text.
 * @example evaluateExpression('result.items | length', { result: { items: [1, 2] } }) // 2
 * @throws {TextError} with the position of the error.
 */
export function evaluateExpression(text: string, scope: TemplateScope): JsonValue | undefined {
  return new Rendering(scope).run(text, compileExpression(text).evaluate);
}

/** Parses one expression, to report errors early. */
export function compileExpression(text: string): Expression {
  return expressions.getOrMake(text, () => {
    if (text.length > maximumLength) throw new TextError('', 0, 'the expression is too long');
    const names = new Names();
    const tokens = new Tokens(text, scan(text, 0, undefined).tokens, names);
    const expression = parseExpression(tokens);
    tokens.expectEnd();
    names.checkCalls(text);
    return expression;
  });
}

/**
 * The simple syntax of responses: `{name}` becomes the value of that name, `None` if it has none. Unknown
 * names and all other braces stay as written.
 * @example renderFormat('Pay {amount} to {name}', { amount: 5, name: null }) // 'Pay 5 to None'
 */
export function renderFormat(text: string, scope: TemplateScope): string {
  return text.replace(/\{([^\n{}]+)\}/g, (written, name: string) => {
    if (!Object.hasOwn(scope, name)) return written;
    return toText(scope[name] ?? null);
  });
}

/** Renders all strings in a JSON value: payloads of buttons, `custom` and the like. */
export function renderEach(value: JsonValue, render: (text: string) => string): JsonValue {
  if (typeof value === 'string') return render(value);
  if (Array.isArray(value)) return value.map((item: JsonValue) => renderEach(item, render));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, renderEach(item, render)]),
  );
}
