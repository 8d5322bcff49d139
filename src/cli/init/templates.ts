import { packageVersion } from '../commands/version.ts';
import { assistantTemplate } from './assistant-template.ts';
import type { Plan } from './questions.ts';

/** What a new project is made of, and how to go on with it. */
export interface Template {
  /** By their paths. */
  readonly files: Readonly<Record<string, string>>;
  readonly commands: readonly string[];
}

export function templateOf(plan: Plan): Template {
  if (plan.kind === 'assistant') return assistantTemplate(plan);
  return plan.kind === 'agent' ? agentTemplate(plan) : workerTemplate(plan);
}

function agentTemplate(plan: Plan): Template {
  return {
    files: {
      'agent.ts': agentModule(plan),
      'agent.test.ts': agentTest(plan),
      'package.json': packageFile(plan, 'legate run agent.ts --inspect'),
      'README.md': `# ${plan.name}

${plan.description}

\`\`\`sh
legate run agent.ts --inspect          # serve it; the link that it prints opens the inspector
legate send http://localhost:5005 "one two three"
legate check http://localhost:5005     # what other agents will find right and wrong
npm install && npm test                # its tests
\`\`\`
`,
      '.gitignore': ignored,
    },
    commands: [
      'legate run agent.ts --inspect',
      'legate send http://localhost:5005 "one two three"',
    ],
  };
}

function workerTemplate(plan: Plan): Template {
  return {
    files: {
      'agent.ts': agentModule(plan),
      'agent.test.ts': agentTest(plan),
      'endpoints.yml': `# Where tasks come from. Set AMQP_URL, for instance to amqp://localhost.
bus:
  type: rabbitmq
  url: \${AMQP_URL}

# Where they are kept; the folder is made when it is missing.
store:
  type: sqlite
  path: .legate/${plan.name}.db
`,
      'package.json': packageFile(plan, 'legate work agent.ts'),
      'README.md': `# ${plan.name}

${plan.description}

\`\`\`sh
export AMQP_URL=amqp://localhost
legate work agent.ts                   # take tasks from the bus, until Ctrl+C
legate call ${plan.name} count "one two three"
legate run agent.ts                    # the same agent over HTTP
npm install && npm test                # its tests
\`\`\`
`,
      '.gitignore': ignored,
    },
    commands: [
      'export AMQP_URL=amqp://localhost',
      'legate work agent.ts',
      `legate call ${plan.name} count "one two three"`,
    ],
  };
}

const ignored = 'node_modules/\n.legate/\nmodels/\n';

function agentModule({ name, description }: Plan): string {
  return `import { agent, artifact, textOf, working } from 'legate';

/** One message in, events out: words on the way, then what was made. */
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
