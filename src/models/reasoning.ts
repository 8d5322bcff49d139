/**
 * Some models wrap their reasoning in tags. Reasoning is removed before text is parsed, shown or
 * stored.
 */
const tagNames = ['think', 'thinking', 'thought', 'reasoning'] as const;
const anyTag = new RegExp(`<(/?)(${tagNames.join('|')})>`, 'gi');
const maxTagLength = '</reasoning>'.length;

/**
 * Removes reasoning from a text. A tag that is never closed extends to the end. A closing tag without
 * an opening one ends reasoning that started before the text: some servers drop the opening tag. Linear
 * in the length of the text.
 * @example stripReasoning('<think>hm</think>Yes.') // 'Yes.'
 */
export function stripReasoning(text: string): string {
  if (!text.includes('<')) return text.trim();
  let kept = '';
  let from = 0;
  let inside: string | undefined;
  for (const match of text.matchAll(anyTag)) {
    const closes = match[1] === '/';
    const name = match[2]?.toLowerCase();
    const end = match.index + match[0].length;
    if (inside === undefined) {
      kept = closes ? '' : kept + text.slice(from, match.index);
      if (!closes) inside = name;
      from = end;
    } else if (closes && name === inside) {
      inside = undefined;
      from = end;
    }
  }
  return (inside === undefined ? kept + text.slice(from) : kept).trim();
}

/** Removes reasoning from streamed text. */
export interface ReasoningFilter {
  /** Returns the text that can be shown after this delta. */
  push(delta: string): string;
  /** Returns the text that was held back. */
  end(): string;
}

/**
 * A filter for one stream. It holds back at most the length of a tag. It does not handle a closing tag
 * without an opening one: the text before it has already been passed on.
 */
export function createReasoningFilter(): ReasoningFilter {
  let held = '';
  let inside: string | undefined;
  const take = (isFinal: boolean): string => {
    let out = '';
    let from = 0;
    for (const match of held.matchAll(anyTag)) {
      const closes = match[1] === '/';
      const name = match[2]?.toLowerCase();
      if (inside === undefined ? closes : !closes || name !== inside) continue;
      if (inside === undefined) out += held.slice(from, match.index);
      inside = inside === undefined ? name : undefined;
      from = match.index + match[0].length;
    }
    const rest = held.slice(from);
    const bracket = isFinal ? -1 : rest.lastIndexOf('<');
    const couldBeTag = bracket >= 0 && rest.length - bracket < maxTagLength;
    const cut = couldBeTag && !rest.includes('>', bracket) ? bracket : rest.length;
    if (inside === undefined) out += rest.slice(0, cut);
    held = rest.slice(cut);
    return out;
  };
  return {
    push(delta) {
      if (inside === undefined && held === '' && !delta.includes('<')) return delta;
      held += delta;
      return take(false);
    },
    end: () => take(true),
  };
}
