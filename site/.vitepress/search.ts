import type { MarkdownEnv, MarkdownRenderer } from 'vitepress';

/** Headings that every export of the API reference has. */
const repeated =
  /<h[2-6] id="(?:parameters|returns|example|examples|extends|throws|type-parameters|default|properties|methods|constructors|constructor|call-signature|inherited-from|overrides|implementation-of|type-declaration)(?:-\d+)?"[\s\S]*?<\/h[2-6]>/g;

/**
 * The text of a page that search finds. Without code, and of the API reference without tables and the headings
 * that every export has: those make two thirds of the index, and nobody looks for them.
 */
export function searchable(source: string, env: MarkdownEnv, markdown: MarkdownRenderer): string {
  const html = markdown.render(source, env);
  const text = html.replaceAll(/<(pre|script|style)\b[\s\S]*?<\/\1>/g, '');
  // The table of every export repeats the pages of the API.
  if (!/^(?:api\/|docs\/reference\/api\.md)/.test(env.relativePath)) return text;
  return text.replaceAll(/<table\b[\s\S]*?<\/table>/g, '').replaceAll(repeated, '');
}
