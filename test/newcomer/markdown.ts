/** A fenced block of a page: what is written after the fence, and between the fences. */
export interface Block {
  readonly language: string;
  /** What follows the language, such as `title=x` or `background`. */
  readonly info: string;
  readonly title: string | undefined;
  readonly body: string;
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
