import type { JsonValue } from '../../protocol/index.ts';
import type { TemplateScope } from './evaluator.ts';
import { toText } from './value.ts';

/**
 * The simple style of responses: `{name}` becomes the value of that name, `None` when it has none.
 * A name that does not exist stays as it is written, and so does every other brace.
 * @example renderFormat('Pay {amount} to {name}', { amount: 5, name: null }) // 'Pay 5 to None'
 */
export function renderFormat(text: string, scope: TemplateScope): string {
  return text.replace(/\{([^\n{}]+)\}/g, (written, name: string) => {
    if (!Object.hasOwn(scope, name)) return written;
    return toText(scope[name] ?? null);
  });
}

/** The names that `renderFormat` would look for. */
export function formatNames(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\{([A-Za-z_][\w-]*)\}/g)].map((match) => match[1] ?? ''))];
}

/** A JSON value with every text in it rendered: the payloads of buttons, `custom` and the like. */
export function renderEach(value: JsonValue, render: (text: string) => string): JsonValue {
  if (typeof value === 'string') return render(value);
  if (Array.isArray(value)) return value.map((item: JsonValue) => renderEach(item, render));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, renderEach(item, render)]),
  );
}
