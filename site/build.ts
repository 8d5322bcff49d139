/**
 * Builds the documentation site into `site/dist`: static files with search, which need no network.
 * Usage: npm run docs [-- --serve|--check]. `--serve` shows it on http://localhost:4173, `--check` opens it in a
 * browser and looks for its diagrams, its search and the API reference.
 *
 * Pages are copied to `site/.content`, in the folders that they have in the repository, so that their
 * links work in both places. Links to files without a page become plain text.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { checkSite } from './check.ts';
import { entryName } from './pages.ts';

const site = import.meta.dirname;
const root = join(site, '..');
const content = join(site, '.content');
const run = (command: string, args: readonly string[]): void => {
  execFileSync(command, args, { cwd: site, stdio: 'inherit' });
};

if (!existsSync(join(site, 'node_modules'))) run('npm', ['ci', '--no-audit', '--no-fund']);
rmSync(content, { recursive: true, force: true });

const pages = globSync('{*.md,docs/**/*.md}', { cwd: root });
for (const page of pages) write(page, linked(readFileSync(join(root, page), 'utf8'), page));
cpSync(join(root, 'docs/images'), join(content, 'docs/images'), { recursive: true });
cpSync(join(root, 'docs/images'), join(content, 'public/docs/images'), { recursive: true });
cpSync(join(root, 'inspector/public/favicon.svg'), join(content, 'public/favicon.svg'));
write('index.md', readFileSync(join(site, 'index.md'), 'utf8'));

/** The API reference has a page for each entry of the package. */
const entries = Object.keys(packageJson.exports)
  .filter((name) => name !== './package.json')
  .map((name) => join(root, 'src', name, 'index.ts'));
const options = {
  plugin: 'typedoc-plugin-markdown',
  out: join(content, 'api'),
  tsconfig: join(root, 'tsconfig.build.json'),
  readme: 'none',
  name: 'API',
  outputFileStrategy: 'modules',
  entryFileName: 'index',
  hideBreadcrumbs: 'true',
  excludeExternals: 'true',
  excludeInternal: 'true',
  disableSources: 'true',
  // TypeScript 7 checks the types; TypeDoc reads them with TypeScript 6.
  skipErrorChecking: 'true',
  logLevel: 'Error',
};
run(join(site, 'node_modules/.bin/typedoc'), [
  ...entries.flatMap((entry) => ['--entryPoints', entry]),
  ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
]);

nameEntries();

run(join(site, 'node_modules/.bin/vitepress'), ['build', site]);
if (process.argv.includes('--check')) {
  process.stdout.write(`${await checkSite(join(site, 'dist'))}\n`);
}
if (process.argv.includes('--serve')) {
  run(join(site, 'node_modules/.bin/vitepress'), ['preview', site, '--port', '4173']);
}

/** TypeDoc names pages by their files. Readers know the entries by what they import: `legate/client`. */
function nameEntries(): void {
  const folder = join(content, 'api');
  const texts = new Map(
    globSync('*.md', { cwd: folder }).map((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      rmSync(join(folder, file));
      return [file.replace('index-1', 'legate'), text];
    }),
  );
  const summaryOf = (file: string): string =>
    /^# [a-z]+\n\n([^#\n].*)$/m.exec(texts.get(file) ?? '')?.[1] ?? '';
  for (const [file, text] of texts) {
    const named = text
      .replace(/^(?:\[\*\*API\*\*\]\(index\.md\)|\*\*API\*\*)\n\n\*\*\*\n\n/, '')
      .replaceAll('index-1.md', 'legate.md')
      .replace(/^# ([a-z]+)$/m, (_, name: string) => `# ${entryName(name)}`)
      .replaceAll(
        /^- \[([a-z]+)\]\(([\w-]+\.md)\)$/gm,
        (_, name: string, page: string) => `- [${entryName(name)}](${page}): ${summaryOf(page)}`,
      );
    writeFileSync(join(folder, file), named);
  }
}

function write(page: string, text: string): void {
  const file = join(content, page);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** The text of a page without links that lead out of the site. */
function linked(text: string, page: string): string {
  return text.replaceAll(
    /(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g,
    (whole, label: string, target: string) => {
      if (/^(?:[a-z]+:|#)/.test(target)) return whole;
      const [path = ''] = target.split('#');
      const file = join(dirname(page), path);
      if (file === 'docs/decisions') return label;
      return pages.includes(file) ? whole : label;
    },
  );
}
