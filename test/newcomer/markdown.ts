/** A fenced block of a page: what is written after the fence, and between the fences. */
export interface Block {
  readonly language: string;
  /** What follows the language, such as `title=x` or `background`. */
  readonly info: string;
  readonly title: string | undefined;
  readonly body: string;
}

/**
 * The file of a project that a block is: it has that title, or begins with a comment that names it.
 * @example fileOf(block) // 'endpoints.yml'
 */
export function fileOf({ title, body }: Block): string | undefined {
  return title ?? /^# ([\w./-]+\.(?:yml|conf))\b/.exec(body)?.[1];
}

export function blocksOf(text: string): readonly Block[] {
  return Array.from(
    text.matchAll(/^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm),
    ([, language = '', rest = '', body = '']) => {
      const info = rest.trim();
      return { language, info, title: /title=(\S+)/.exec(info)?.[1], body };
    },
  );
}
