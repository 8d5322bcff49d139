import { TemplateError } from './template-error.ts';
import { scan, Tokens } from './tokens.ts';

export type Segment =
  | { readonly kind: 'text'; readonly text: string; readonly offset: number }
  | { readonly kind: 'output' | 'statement'; readonly tokens: Tokens; readonly offset: number };

const opening = /\{\{|\{%|\{#/g;
const endRaw = /\{%[-+]?\s*endraw\s*(-?)\+?%\}/g;

/**
 * Cuts a template into plain text, `{{ outputs }}` and `{% statements %}`, with comments gone and
 * the white space dropped that `-` at a mark asks to drop.
 */
export function* segments(template: string): Generator<Segment, undefined> {
  // One line break at the very end belongs to the file, not to the text.
  const end = template.length - (/\r?\n$|\r$/.exec(template)?.[0].length ?? 0);
  let at = 0;
  let trimStart = false;
  const text = (to: number, trimEnd: boolean): Segment[] => {
    let piece = template.slice(at, Math.min(to, end)).replace(/\r\n?/g, '\n');
    if (trimStart) piece = piece.trimStart();
    if (trimEnd) piece = piece.trimEnd();
    return piece === '' ? [] : [{ kind: 'text', text: piece, offset: at }];
  };
  for (;;) {
    opening.lastIndex = at;
    const match = opening.exec(template);
    if (match === null) {
      yield* text(end, false);
      return undefined;
    }
    const offset = match.index;
    const mark = template.charAt(offset + 2);
    yield* text(offset, mark === '-');
    // `+` asks to keep white space, which is what happens anyway.
    const inner = offset + (mark === '-' || (mark === '+' && match[0] === '{%') ? 3 : 2);
    if (match[0] === '{#') {
      const close = template.indexOf('#}', inner);
      if (close === -1) throw new TemplateError(template, offset, 'missing the closing #}');
      trimStart = template[close - 1] === '-' && close > inner;
      at = close + 2;
      continue;
    }
    const isOutput = match[0] === '{{';
    const { tokens, end: behind, trim } = scan(template, inner, isOutput ? '}}' : '%}');
    at = behind;
    trimStart = trim;
    if (!isOutput && tokens[0]?.value === 'raw' && tokens.length === 2) {
      endRaw.lastIndex = at;
      const close = endRaw.exec(template);
      if (close === null) throw new TemplateError(template, offset, 'missing {% endraw %}');
      yield* text(close.index, template[close.index + 2] === '-');
      at = endRaw.lastIndex;
      trimStart = close[1] === '-';
      continue;
    }
    yield {
      kind: isOutput ? 'output' : 'statement',
      tokens: new Tokens(template, tokens),
      offset,
    };
  }
}
