import type { Command } from 'commander';
import { command, flag, grouped, negated, operand, type OptionsOf, value } from './declare.ts';
import {
  client,
  connection,
  cors,
  dangerouslyAllowUnauthenticatedRemote,
  directory,
  inspect,
  inspectToken,
  json,
  listening,
  listenOn,
  logLevel,
  milliseconds,
  model,
  openInspector,
  publicUrl,
  projectFiles,
  port,
  portWithDefault,
} from './options.ts';

/** The kinds of projects that `init` creates, with their descriptions. */
export const projectKinds = {
  assistant: 'a chat assistant in YAML (flows, responses, tests); needs no language model',
  agent: 'an agent in TypeScript, served over A2A (HTTP)',
  worker: 'an agent in TypeScript that takes its tasks from RabbitMQ',
} as const;
export type ProjectKind = keyof typeof projectKinds;

const initOptions = {
  kind: value<ProjectKind>(
    'kind',
    'kind of project, see below',
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of projectKinds
    { short: 'k', choices: Object.keys(projectKinds) as ProjectKind[] },
  ),
  name: value('name', 'name of the project', { short: 'n' }),
  description: value('text', 'one-sentence description', { short: 'd' }),
  yes: flag('use defaults instead of asking', { short: 'y' }),
  force: flag('overwrite existing files'),
};
export type InitCommandOptions = OptionsOf<typeof initOptions>;

export function initCommand(): Command {
  return command('init', {
    summary: 'create a project: an assistant, an agent in code, or a RabbitMQ worker',
    operands: [operand('[folder]', 'folder of the project; created if missing', '.')],
    options: initOptions,
    notes: [
      ...Object.entries(projectKinds).map(([kind, what]) => `${kind.padEnd(11)}${what}`),
      '',
      'Every project has a README, tests, a Dockerfile and a CI workflow. In a terminal, init asks for what the',
      'flags leave out. Otherwise it uses defaults.',
    ].join('\n'),
    examples: [
      'legate init',
      'legate init my-assistant --kind assistant --yes',
      'legate init translator -k agent -d "Translates text into Latin."',
    ],
    run: async () => (await import('../init/init.ts')).init,
  });
}

const runOptions = {
  ...projectFiles,
  model: value('file', 'packed model (see train), or a folder whose newest model is used', {
    short: 'm',
  }),
  port: port(5005),
  interface: listenOn,
  url: publicUrl,
  inspect,
  inspectToken,
  open: openInspector,
  examples: flag('print example requests of all kinds, to paste into a terminal'),
  enableApi: flag('enable the HTTP API: trackers, domain, flows, model'),
  authToken: value(
    'token',
    'token that the HTTP API requires; for a module, that the agent requires',
    { short: 't', env: 'AUTH_TOKEN' },
  ),
  jwtSecret: value(
    'secret',
    'secret that verifies JWTs for the HTTP API; a PEM public key for RS, ES, PS',
    { env: 'JWT_SECRET' },
  ),
  jwtMethod: value('algorithm', 'JWT algorithm', {
    choices: ['HS256', 'HS384', 'HS512', 'RS256', 'RS512', 'ES256', 'ES512', 'PS256'],
    default: 'HS256',
    env: 'JWT_METHOD',
  }),
  jwtWithoutExpiry: flag('accept JWTs without an exp claim, which never expire'),
  ...listening,
  sslPassword: value('password', 'passphrase of the private key', { env: 'SSL_PASSWORD' }),
  cors,
  dangerouslyAllowUnauthenticatedRemote,
  notice: value(
    'seconds',
    'on SIGTERM, answer 503 at /ready for this long before closing the port (default: 5 if /ready is polled, otherwise 0)',
    { parse: milliseconds },
  ),
  showErrors: flag('tell callers why an agent failed, in its own words; for development'),
  drain: value('seconds', 'then let turns in flight end for this long (default: 20)', {
    parse: milliseconds,
  }),
  logLevel: logLevel('warn'),
};
export type RunCommandOptions = OptionsOf<typeof runOptions>;

export function runCommand(): Command {
  return command('run', {
    summary: 'serve an assistant or an agent in code',
    isServer: true,
    operands: [directory('assistant folder, or module that exports an agent')],
    options: runOptions,
    examples: [
      'legate run                                   the project in this folder',
      'legate run examples/bank -p 8080             another project on another port',
      'legate run agent.ts --inspect                an agent in code, with the inspector',
      'legate run -m models --enable-api -t secret  the newest packed model with the HTTP API',
    ],
    run: async () => (await import('../run.ts')).run,
  });
}

const devOptions = {
  port: port(5005),
  inspectToken,
  open: negated('do not open a browser'),
  logLevel: logLevel('warn'),
};
export type DevCommandOptions = OptionsOf<typeof devOptions>;

export function devCommand(): Command {
  return command('dev', {
    summary:
      'serve an agent or an assistant while you write it: reloads on change, opens the inspector',
    isServer: true,
    operands: [directory('module that exports an agent, or assistant folder')],
    options: devOptions,
    notes: `Starts again when a file beside the module, or in the folder, changes. Conversations are stored and
continue. Listens on this machine only; callers see why an agent failed, unless NODE_ENV is production.`,
    examples: ['legate dev agent.ts', 'legate dev examples/bank --no-open'],
    run: async () => (await import('../dev.ts')).dev,
  });
}

const { timeout: _timeout, ...shellConnection } = connection;
const shellOptions = {
  ...projectFiles,
  ...grouped('Connection to an agent:', {
    ...shellConnection,
    contextId: value('id', 'continue this conversation'),
    // Accepts agents of older versions: the user sees the version.
    a2aVersion: value(
      'version',
      'protocol version: 1.0 or 0.3 (default: the newest that the agent supports)',
    ),
    debug: flag('log requests and responses, with credentials redacted'),
  }),
  model,
  sender: value('id', 'sender id of the conversation', { default: 'shell' }),
  logLevel: logLevel('warn'),
};
export type ShellCommandOptions = OptionsOf<typeof shellOptions>;

export function shellCommand(): Command {
  return command('shell', {
    summary: 'chat with an assistant or any agent in the terminal',
    aliases: ['chat'],
    operands: [directory('assistant folder, module that exports an agent, or any A2A agent')],
    options: shellOptions,
    notes: `Each line is one message. /stop or end of input ends the conversation, /restart starts a new one, /help
lists all commands. Conversations are not stored; in a terminal, the lines that you type are kept for the arrow keys of
later sessions (LEGATE_SHELL_HISTORY), unless they start with a space. Name an agent as for "legate send"; the connection options can
also be set as A2ACLI_<FLAG> in the environment or in a .env file.`,
    examples: [
      'legate shell examples/bank',
      'legate shell agent.ts',
      'legate shell http://localhost:8000',
      'A2ACLI_BEARER=… legate shell agent.example --transport grpc',
      'echo "what is my balance?" | legate shell examples/bank',
    ],
    run: async () => (await import('../shell.ts')).shell,
  });
}

const inspectOptions = {
  port: portWithDefault('5005; for a URL, any free port'),
  inspectToken,
  open: negated('do not open a browser'),
  logLevel: logLevel('warn'),
  ...client,
};
export type InspectCommandOptions = OptionsOf<typeof inspectOptions>;

export function inspectCommand(): Command {
  return command('inspect', {
    summary: 'open the inspector UI for an assistant or any agent in the browser',
    isServer: true,
    operands: [operand('[agent]', 'assistant folder, module that exports an agent, or URL', '.')],
    options: inspectOptions,
    notes: `For a URL, this process calls the agent and keeps the conversation until it stops; the connection
options apply to URLs only. The inspector needs the token in the printed link.`,
    examples: [
      'legate inspect                       the assistant in this folder',
      'legate inspect agent.ts              an agent in code',
      'legate inspect http://localhost:8000 any agent that speaks A2A',
    ],
    run: async () => (await import('../inspect.ts')).inspect,
  });
}

const validateOptions = {
  ...projectFiles,
  failOnWarnings: flag('treat warnings as errors'),
  live: flag('also try the action server, MCP servers, sub agents and models'),
  json: flag('print a JSON list'),
};
export type ValidateCommandOptions = OptionsOf<typeof validateOptions>;

export function validateCommand(): Command {
  return command('validate', {
    summary: 'report all errors and warnings in a project',
    operands: [directory()],
    options: validateOptions,
    notes: `Each line reads  file:line:column path: problem; fix
Exits with 1 if there are errors.`,
    examples: [
      'legate validate',
      'legate validate examples/bank --json',
      'legate validate --live               with everything that it connects to',
    ],
    run: async () => (await import('../validate.ts')).validateProject,
  });
}

const trainOptions = {
  ...projectFiles,
  out: value('folder', 'folder for the packed model (default: models/ in the project)'),
  fixedModelName: value('name', 'file name (default: contains the time)'),
  failOnValidationWarnings: flag('treat warnings as errors'),
  report: flag('print how well the examples keep the flows apart; packs nothing'),
  json,
};
export type TrainCommandOptions = OptionsOf<typeof trainOptions>;

export function trainCommand(): Command {
  return command('train', {
    summary: 'validate a project and pack it into one file for "legate run -m"',
    operands: [directory()],
    options: trainOptions,
    notes: 'Prints the path of the model to standard output.',
    examples: [
      'legate train                      models/<time>-<name>.tar.gz',
      'legate train --out /srv/models --fixed-model-name bank',
      'legate train --report             flows without examples, flows that compete, confusions',
    ],
    run: async () => (await import('../train.ts')).train,
  });
}

const testOptions = {
  project: value('folder', 'project folder (default: found from the path)'),
  model,
  ...projectFiles,
  failFast: flag('stop at the first failure'),
  outputResults: value('folder', 'write passed.yml and failed.yml', { short: 'o' }),
  resultsPrefix: value('text', 'start of the names of these two files', { default: '' }),
  failedResults: value('file', 'write the failed tests with their reasons', { short: 'f' }),
  junit: value('file', 'write a JUnit report'),
  coverageReport: flag('print which flow steps were covered'),
  coverageOutputPath: value('folder', 'write the coverage as CSV'),
  json: flag('print the results as a JSON list'),
  logLevel: logLevel('warn'),
};
export type TestCommandOptions = OptionsOf<typeof testOptions>;

const evaluateOptions = {
  agent: value('module', 'agent under test (default: agent: of the file)', { short: 'a' }),
  model: value<'auto' | 'live' | 'record' | 'replay'>(
    'mode',
    'live: ask the models; record: ask and record; replay: only recordings; auto: replay what is recorded',
    { default: 'auto', choices: ['auto', 'live', 'record', 'replay'] },
  ),
  failFast: flag('stop at the first failure'),
  json: flag('print the results as a JSON list'),
  junit: value('file', 'write a JUnit report'),
  logLevel: logLevel('error'),
};
export type EvaluateCommandOptions = OptionsOf<typeof evaluateOptions>;

export function testCommand(): Command {
  const agents = command('agents', {
    summary: 'evaluate agents: tools they call, facts they state',
    operands: [operand('[path]', 'file or folder of cases; file::name for one case', 'evals')],
    options: evaluateOptions,
    notes: 'Exits with 1 if a case fails, or if a file is invalid.',
    examples: [
      'legate test agents                                    evals/ in this folder',
      'legate test agents evals/refunds.yml --model record   asks the models and records their answers',
      'legate test agents --model replay --junit report.xml  for CI: no key, no network',
    ],
    run: async () => (await import('../evaluate/test-agents.ts')).testAgents,
  });
  const endToEnd = command('e2e', {
    summary: 'run end-to-end conversation tests',
    operands: [operand('[path]', 'test file or folder; file::name for one test', 'tests')],
    options: testOptions,
    notes: 'Exits with 1 if a test fails. An invalid test fails; the others run.',
    examples: [
      'legate test e2e                                       tests/ of the project in this folder',
      'legate test e2e examples/bank/tests --coverage-report',
      'legate test e2e "tests/transfers.yml::cancel a transfer" --fail-fast',
    ],
    run: async () => (await import('../test-e2e.ts')).testEndToEnd,
  });
  return command('test', {
    summary: 'run the tests of an assistant, evaluate agents',
    commands: [endToEnd, agents],
  });
}

const doctorOptions = {
  ...projectFiles,
  port: port(5005),
  sslCertificate: value('file', 'TLS certificate of the server (PEM), to check'),
  sslKeyfile: value('file', 'private key of the certificate (PEM)'),
  sslCaFile: value('file', 'CA certificates for client certificates (PEM), as with "legate run"'),
  json,
};
export type DoctorCommandOptions = OptionsOf<typeof doctorOptions>;

export function doctorCommand(): Command {
  return command('doctor', {
    summary: 'check the environment of a server and say how to fix problems',
    operands: [directory()],
    options: doctorOptions,
    notes: `Checks Node, configuration or the module of an agent, store, broker, OTLP endpoint, keys (also
those at a URL), certificates of the port and of clients, models, action server, MCP servers, sub agents, peers, port, clock and card, and says how to fix each problem. Changes nothing. Exits
with 1 if it finds an error.`,
    examples: [
      'legate doctor',
      'legate doctor examples/bank --port 8080',
      'legate doctor agent.ts --ssl-certificate cert.pem --ssl-keyfile key.pem',
      `legate doctor --json | jq '.[] | select(.outcome == "failed")'`,
    ],
    run: async () => (await import('../doctor/doctor.ts')).doctor,
  });
}
