import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageVersion } from '../commands/version.ts';
import type { Plan } from './questions.ts';

/** The files of a new project, and the commands to run next. */
export interface Template {
  /** By their paths. */
  readonly files: Readonly<Record<string, string>>;
  readonly commands: readonly string[];
}

/** The folders of a kind's template files, the command of its `npm start`, and what to type next. */
const kinds = {
  assistant: {
    folders: ['assistant'],
    start: '',
    commands: () => ['npx legate test e2e', 'npx legate shell', 'npx legate run --inspect'],
  },
  agent: {
    folders: ['code', 'agent'],
    start: 'legate run agent.ts --inspect',
    commands: () => [
      'npx legate run agent.ts --inspect',
      'npx legate send http://localhost:5005 "one two three"',
    ],
  },
  worker: {
    folders: ['code', 'worker'],
    start: 'legate work agent.ts',
    commands: ({ name }: Plan) => [
      'export AMQP_URL=amqp://localhost',
      'npx legate work agent.ts',
      `npx legate call ${name} count "one two three"`,
    ],
  },
};

/** Fills in `{{name}}` and the other values in the template files of a kind of project. */
export function templateOf(plan: Plan): Template {
  const { folders, start, commands } = kinds[plan.kind];
  const values: Readonly<Record<string, string>> = {
    name: plan.name,
    packageName: plan.name.toLowerCase(),
    variable: variableFrom(plan.name),
    description: plan.description,
    quotedDescription: JSON.stringify(plan.description),
    start,
    version: packageVersion(),
  };
  const files: Record<string, string> = {};
  for (const folder of folders) {
    const cwd = join(import.meta.dirname, 'templates', folder);
    for (const path of globSync('**/*.template', { cwd }).toSorted()) {
      const text = readFileSync(join(cwd, path), 'utf8');
      // npm and glob patterns leave out files whose names start with a dot.
      const name = path.replace(/\.template$/, '').replace(/^gitignore$/, '.gitignore');
      files[name] = text.replaceAll(
        /\{\{(\w+)\}\}/g,
        (placeholder, key: string) => values[key] ?? placeholder,
      );
    }
  }
  return { files, commands: commands(plan) };
}

/** `word-count` is `wordCount` in code. */
function variableFrom(name: string): string {
  const camel = name.replaceAll(/[-_]+(\w?)/g, (_, next: string) => next.toUpperCase());
  return /^(?:agent|artifact|textOf|working|default|export|import|function|class|new|in|do|if|for|let|var|const|this|with|case|else|enum|null|true|void|while|yield|await|return|static|switch|typeof|delete|package)$/.test(
    camel,
  )
    ? `${camel}Agent`
    : camel;
}
