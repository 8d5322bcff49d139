import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { quoted } from '../client/choices.ts';
import { packageVersion } from '../commands/version.ts';
import type { Plan } from './questions.ts';

/** The files of a new project, and the commands to run next. */
export interface Template {
  /** By their paths. */
  readonly files: Readonly<Record<string, string>>;
  readonly commands: readonly string[];
}

interface Kind {
  /** The folders of its template files, besides `common`. */
  readonly folders: readonly string[];
  /** The scripts of package.json. */
  readonly start: string;
  readonly test: string;
  /** The options of `docker run`, and the arguments of `legate` in the image. */
  readonly dockerRun: string;
  readonly dockerCommand: string;
  /** Steps of the workflow before `npm test`. */
  readonly ciSteps?: string;
  /** The next commands for the user. */
  readonly commands: (plan: Plan) => readonly string[];
}

const kinds: Readonly<Record<Plan['kind'], Kind>> = {
  assistant: {
    folders: ['assistant'],
    start: 'legate run --inspect',
    test: 'legate test e2e',
    dockerRun: '-p 5005:5005 -e JWT_SECRET=...',
    dockerCommand: 'run --interface 0.0.0.0',
    ciSteps: '\n      - run: npx legate validate --fail-on-warnings',
    commands: () => ['npx legate test e2e', 'npx legate shell', 'npx legate run --inspect'],
  },
  agent: {
    folders: ['code', 'agent'],
    start: 'legate run agent.ts --inspect',
    test: 'node --test',
    dockerRun: '-p 5005:5005 -e AUTH_TOKEN=...',
    dockerCommand: 'run agent.ts --interface 0.0.0.0',
    commands: () => [
      'npx legate run agent.ts --inspect',
      'npx legate send http://localhost:5005 "one two three"    # in another terminal',
    ],
  },
  worker: {
    folders: ['code', 'worker'],
    start: 'legate work agent.ts',
    test: 'node --test',
    dockerRun: '-e AMQP_URL=amqp://...',
    dockerCommand: 'work agent.ts --port 5005 --interface 0.0.0.0',
    commands: ({ name }: Plan) => [
      'export AMQP_URL=amqp://localhost    # in every terminal',
      'npx legate work agent.ts',
      `npx legate call ${name} count "one two three"    # in another terminal`,
    ],
  },
};

/** Fills in `{{name}}` and the other values in the template files of a kind of project. */
export function templateOf(plan: Plan): Template {
  const {
    folders,
    start,
    test,
    dockerRun,
    dockerCommand,
    ciSteps = '',
    commands,
  } = kinds[plan.kind];
  const packageName = plan.name.toLowerCase();
  const volume = `-v ${packageName}:/app/project/.legate`;
  const values: Readonly<Record<string, string>> = {
    name: plan.name,
    packageName,
    variable: variableFrom(plan.name),
    description: plan.description,
    quotedDescription: JSON.stringify(plan.description),
    literalDescription: literal(plan.description),
    start,
    test,
    dockerRun: `# docker run ${dockerRun} ${volume} ${packageName}`,
    dockerCommand: dockerCommand
      .split(' ')
      .map((word) => JSON.stringify(word))
      .join(', '),
    ciSteps,
    version: packageVersion(),
  };
  const files: Record<string, string> = {};
  for (const folder of ['common', ...folders]) {
    const cwd = join(import.meta.dirname, 'templates', folder);
    for (const path of globSync('**/*.template', { cwd }).toSorted()) {
      const text = readFileSync(join(cwd, path), 'utf8');
      // npm and glob patterns skip files whose names start with a dot, and the package has no `.test.` files.
      const name = path
        .replace(/\.template$/, '')
        .replace(/^dot-/, '.')
        .replace(/-test\.ts$/, '.test.ts');
      files[name] = text.replaceAll(
        /\{\{(\w+)\}\}/g,
        (placeholder, key: string) => values[key] ?? placeholder,
      );
    }
  }
  return { files, commands: commands(plan) };
}

/**
 * The commands that install this version of Legate in a project while it is not on npm: from the running
 * checkout or installed copy. Empty if a parent folder has Legate installed.
 */
export function installCommands(directory: string): readonly string[] {
  if (isInstalledAbove(directory)) return [];
  const root = join(import.meta.dirname, '../../..');
  // An installed copy is built already and has no build scripts.
  const flags = existsSync(join(root, 'scripts/build.ts')) ? '' : ' --ignore-scripts';
  return [`npm pack ${quoted(root)} --pack-destination vendor${flags}`, 'npm install'];
}

function isInstalledAbove(directory: string): boolean {
  if (existsSync(join(directory, 'node_modules/legate'))) return true;
  const above = dirname(directory);
  return above !== directory && isInstalledAbove(above);
}

/** Converts `word-count` to `wordCount`, and avoids reserved and imported names. */
function variableFrom(name: string): string {
  const camel = name.replaceAll(/[-_]+(\w?)/g, (_, next: string) => next.toUpperCase());
  return /^(?:agent|artifact|textOf|working|default|export|import|function|class|new|in|do|if|for|let|var|const|this|with|case|else|enum|null|true|void|while|yield|await|return|static|switch|typeof|delete|package)$/.test(
    camel,
  )
    ? `${camel}Agent`
    : camel;
}

/** A string literal in single quotes, or in double quotes if the text contains special characters. */
function literal(text: string): string {
  return /['\\\p{Cc}]/u.test(text) ? JSON.stringify(text) : `'${text}'`;
}
