import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { entryName, groups } from '../pages.ts';
import { searchable, weightOf } from './search.ts';

const content = join(import.meta.dirname, '../.content');
const linkOf = (file: string): string => `/${file.replace(/\.md$/, '')}`;

/** Pages that are made during the build: the decisions and the API reference. */
function generated(folder: string): { text: string; link: string }[] {
  if (!existsSync(join(content, folder))) return [];
  return readdirSync(join(content, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => {
      const text = name
        .replace(/\.md$/, '')
        .replace(/^\d{4}-\d\d-\d\d-/, '')
        .replaceAll('-', ' ');
      return { text, link: linkOf(`${folder}/${name}`) };
    });
}

// VitePress takes its configuration from the default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig({
  title: 'Legate',
  description: 'Write an agent once and put it on the Agent-to-Agent (A2A) network.',
  srcDir: '.content',
  outDir: 'dist',
  cleanUrls: true,
  lastUpdated: false,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }]],
  // Shown as text: a visitor has no machine of ours.
  ignoreDeadLinks: [/^https?:\/\/(?:localhost|127\.0\.0\.1)/],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(markdown) {
      const fence = markdown.renderer.rules.fence;
      markdown.renderer.rules.fence = (tokens, index, ...rest) => {
        const token = tokens[index];
        if (token?.info.trim() !== 'mermaid') return fence?.(tokens, index, ...rest) ?? '';
        return `<pre class="mermaid" v-pre>${markdown.utils.escapeHtml(token.content)}</pre>`;
      };
    },
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        _render: searchable,
        miniSearch: { searchOptions: { boostDocument: weightOf } },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/docs/guides/serve-an-agent' },
      { text: 'Reference', link: '/docs/reference/configuration' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: [
      ...groups.map(({ text, pages }) => ({
        text,
        collapsed: false,
        items: pages.map(([title, file]) => ({ text: title, link: linkOf(file) })),
      })),
      {
        text: 'API',
        collapsed: true,
        items: generated('api')
          .filter(({ text }) => text !== 'index')
          .map(({ text, link }) => ({ text: entryName(text), link })),
      },
      { text: 'Decisions', collapsed: true, items: generated('docs/decisions') },
    ],
  },
});
