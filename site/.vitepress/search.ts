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

/**
 * Guides come before reference pages, and those before the API, which has every word many times. Runs in the
 * browser, from its source text: it can use nothing outside of it.
 */
export function weightOf(id: string): number {
  if (/\/docs\/(?:guides\/|deploy|tutorial|concepts)/.test(id)) return 3;
  if (/\/api\//.test(id)) return 0.5;
  return 1;
}
