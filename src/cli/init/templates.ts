import { packageVersion } from '../commands/version.ts';
import { assistantTemplate } from './assistant-template.ts';
import type { Plan } from './questions.ts';

/** The files of a new project, and the commands to run next. */
export interface Template {
  /** By their paths. */
  readonly files: Readonly<Record<string, string>>;
  readonly commands: readonly string[];
}

export function templateOf(plan: Plan): Template {
  return plan.kind === 'assistant' ? assistantTemplate(plan) : codeTemplate(plan, plan.kind);
}

/** An agent in code: the command that starts it, and what to type then. */
const starts = {
  agent: {
    start: 'legate run agent.ts --inspect',
    commands: () => [
      'npx legate run agent.ts --inspect',
      'npx legate send http://localhost:5005 "one two three"',
    ],
    usage:
      () => `npx legate run agent.ts --inspect          # serves it and prints the link to the inspector
npx legate send http://localhost:5005 "one two three"
npx legate check http://localhost:5005     # checks it against the A2A specification`,
  },
  worker: {
    start: 'legate work agent.ts',
    commands: ({ name }: Plan) => [
      'export AMQP_URL=amqp://localhost',
      'npx legate work agent.ts',
      `npx legate call ${name} count "one two three"`,
    ],
    usage: ({ name }: Plan) => `export AMQP_URL=amqp://localhost
npx legate work agent.ts                   # takes tasks from the broker until Ctrl+C
npx legate call ${name} count "one two three"
npx legate run agent.ts                    # serves the same agent over HTTP`,
  },
};

function codeTemplate(plan: Plan, kind: 'agent' | 'worker'): Template {
  const { start, commands, usage } = starts[kind];
  return {
    files: {
      'agent.ts': agentModule(plan),
      'agent.test.ts': agentTest(plan),
      ...(kind === 'worker' && { 'endpoints.yml': endpoints(plan) }),
      'package.json': packageFile(plan, start),
      'README.md': `# ${plan.name}

${plan.description}

${installation()}
\`\`\`sh
${usage(plan)}
npm test                                   # runs its tests
\`\`\`
`,
      '.gitignore': 'node_modules/\n.legate/\nmodels/\n',
    },
    commands: commands(plan),
  };
}

function endpoints({ name }: Plan): string {
  return `# The broker that delivers tasks. Set AMQP_URL, for example to amqp://localhost.
bus:
  type: rabbitmq
  url: \${AMQP_URL}

# Stores tasks; the folder is created if missing.
store:
  type: sqlite
  path: .legate/${name}.db
`;
}

/** The package is not published: install its archive by path. */
function installation(): string {
  const archive = `legate-${packageVersion()}.tgz`;
  return `Install Legate first. It isn't on npm yet: run \`npm ci && npm pack\` in a checkout of Legate,
then install the archive here:

\`\`\`sh
npm install <checkout>/${archive}
\`\`\`

Then run and test the agent:
`;
}

function agentModule({ name, description }: Plan): string {
  return `import { agent, artifact, textOf, working } from 'legate';

/** Takes a message; yields status updates, then the result as an artifact. */
export const ${variableFrom(name)} = agent(
  {
    name: ${JSON.stringify(name)},
    description: ${JSON.stringify(description)},
    skills: [
      {
        id: 'count',
        name: 'Counting',
        description: ${JSON.stringify(description)},
        tags: ['text'],
        examples: ['one two three'],
      },
    ],
  },
  async function* (turn) {
    yield working('Counting');
    const words = textOf(turn.message).split(/\\s+/).filter(Boolean);
    yield artifact(\`\${words.length} words\`, { name: 'count' });
  },
);
`;
}

function agentTest({ name }: Plan): string {
  const variable = variableFrom(name);
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore, Runner } from 'legate';
import { ${variable} } from './agent.ts';

test('words are counted', async () => {
  const runner = new Runner({ agent: ${variable}, store: await openStore({ type: 'memory' }) });
  const { text } = await runner.start({ message: 'one two three' }).result();
  assert.equal(text, '3 words');
});
`;
}

function packageFile({ name, description }: Plan, start: string): string {
  const content = {
    name: name.toLowerCase(),
    version: '0.1.0',
    private: true,
    description,
    type: 'module',
    scripts: { start, test: 'node --test' },
    dependencies: { legate: `^${packageVersion()}` },
    engines: { node: '>=22.18' },
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
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
