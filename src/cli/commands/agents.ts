import { type Command, InvalidArgumentError } from 'commander';
import { command, flag, grouped, operand, type OptionsOf, repeated, value } from './declare.ts';
import {
  agentOperand,
  client,
  eventStream,
  history,
  json,
  oneLine,
  portNumber,
  waiting,
} from './options.ts';
import { agentCommand } from './tasks.ts';

/** One part of a message, from its flags. */
export interface PartFlag {
  readonly kind: 'text' | 'file' | 'data';
  readonly value: string;
  readonly mediaType?: string;
}

/** The flags of parts share one list, because their order is the order of the parts. */
function sendOptions(parts: PartFlag[]) {
  const part = (kind: PartFlag['kind']) => ({
    parse: (text: string): string => {
      parts.push({ kind, value: text });
      return text;
    },
  });
  const mediaType = (type: string): string => {
    const last = parts.pop();
    if (last === undefined) throw new InvalidArgumentError('Must follow --text, --file or --data.');
    parts.push({ ...last, mediaType: type });
    return type;
  };
  return {
    ...grouped('Message:', {
      text: value('text', 'text part; repeatable', part('text')),
      file: value(
        'path',
        'file part: a path, a URL, or - for standard input; repeatable',
        part('file'),
      ),
      data: value(
        'path',
        'data part: a JSON file, inline JSON, or - for standard input; repeatable',
        part('data'),
      ),
      mediaType: value('type', 'media type of the preceding part (default: from the file name)', {
        parse: mediaType,
      }),
      metadata: value('json', 'JSON object to send as metadata'),
      messageId: value('id', 'message id, to resend the same message (default: a new id)'),
    }),
    contextId: value('id', 'continue a conversation with a new task'),
    taskId: value('id', 'continue a task, for instance to answer its question'),
    async: flag('do not wait; print the ids and exit', { conflicts: 'stream' }),
    noWait: flag('alias of --async'),
    returnImmediately: flag('alias of --async', { implies: { async: true } }),
    wait: flag('wait until the task ends or needs input (default)'),
    stream: eventStream,
    history,
    ...waiting,
  };
}
export type SendCommandOptions = OptionsOf<ReturnType<typeof sendOptions> & typeof client>;

export function sendCommand(): Command {
  const parts: PartFlag[] = [];
  return agentCommand('send', {
    summary: 'send a message to an agent and print the result',
    operands: [
      operand(
        '[words...]',
        'the agent (unless --agent-card names it) and the text; - reads standard input',
      ),
    ],
    options: sendOptions(parts),
    notes: 'Exits with 0 if the agent answered, even if its task failed: check the task state.',
    examples: [
      'legate send http://localhost:8000 "Book a table for two"',
      'legate send -a agent.example --stream --json "Write a report"',
      'legate send -a agent.example --file report.pdf --text "Sum it up"',
      'git diff | legate send agent.example -',
      'legate send -a agent.example --task-id 01a1… "At eight"',
      'A2ACLI_BEARER=… legate send agent.example --data order.json --async',
    ],
    run: async () => {
      const { send } = await import('../client/send.ts');
      return (words: readonly string[], options: SendCommandOptions) => send(words, parts, options);
    },
  });
}

const cardOptions = {
  validate: flag('validate the card; exit with 1 if it is invalid'),
  extended: flag('fetch the extended card for authenticated callers'),
  stream: oneLine,
  trustedKeys: value('file', 'JWKS file; fail unless one of its keys signed the card'),
};
export type CardCommandOptions = OptionsOf<typeof cardOptions & typeof client>;

export function cardCommand(): Command {
  const get = agentCommand('get', {
    summary: 'fetch the card of an agent and print it',
    operands: [agentOperand],
    options: cardOptions,
    examples: [
      'legate card http://localhost:8000',
      'legate card get -a ./card.json --validate',
      'A2ACLI_BEARER=… legate card get --extended --json agent.example',
      'legate card get agent.example --trusted-keys keys.json',
    ],
    run: async () => (await import('../client/card.ts')).showCard,
  });
  return command('card', {
    summary: 'print the agent card of an agent',
    notes: '"legate card <agent>" is short for "legate card get <agent>".',
    examples: [
      'legate card http://localhost:8000',
      'legate card get --validate --json agent.example',
    ],
  }).addCommand(get, { isDefault: true });
}

const checkOptions = {
  format: value<'text' | 'json' | 'html'>('format', 'format of the report', {
    short: 'f',
    choices: ['text', 'json', 'html'],
    default: 'text',
  }),
  report: value('file', 'write the report to this file instead of standard output'),
  message: value('text', 'message to send to the agent', { default: 'Hello' }),
  readOnly: flag('send no messages; check only the card and its caching'),
  all: flag('also list passed and skipped checks'),
  failOnWarnings: flag('treat warnings as failures'),
  tck: value('folder', "run the A2A project's test kit instead, from a checkout of a2a-tck"),
};
export type CheckCommandOptions = OptionsOf<typeof checkOptions & typeof client>;

export function checkCommand(): Command {
  return agentCommand('check', {
    summary: 'check how well an agent conforms to A2A',
    aliases: ['conformance'],
    operands: [agentOperand],
    options: checkOptions,
    notes:
      'The check sends messages, which create tasks, and invalid requests. Exits with 1 if a check fails.',
    examples: [
      'legate check http://localhost:8000',
      'legate check agent.example --format html --report report.html',
      'legate conformance http://localhost:8000 --tck ../a2a-tck --transport jsonrpc',
      `A2ACLI_BEARER=… legate check agent.example --json | jq '.findings[] | select(.outcome == "failed")'`,
    ],
    run: async () => (await import('../check/check.ts')).check,
  });
}

const loginFlows = ['device-code', 'authorization-code', 'client-credentials'] as const;
export type LoginFlow = (typeof loginFlows)[number];

const loginOptions = {
  flow: value<LoginFlow>('flow', 'OAuth flow (default: the first one that the card declares)', {
    choices: loginFlows,
  }),
  clientId: value('id', 'OAuth client id', { env: 'A2ACLI_CLIENT_ID' }),
  scope: repeated('scope', "scope to request; repeatable (default: the card's scopes)"),
  redirectPort: value(
    'port',
    'local port for the redirect of the authorization code flow (default: any free port)',
    { parse: portNumber },
  ),
};
export type LoginCommandOptions = OptionsOf<typeof loginOptions & typeof client>;

export function authCommand(): Command {
  const load = () => import('../client/auth.ts');
  return command('auth', {
    summary: 'log in to an agent that requires OAuth or OpenID Connect',
    commands: [
      agentCommand('login', {
        summary:
          'get a token from the authorization server of an agent and store it for later calls',
        operands: [agentOperand],
        options: loginOptions,
        notes: `Endpoints of OpenID Connect providers are discovered. Confirm a device code in any browser; the
authorization code flow (PKCE) needs a browser on this machine. Set A2ACLI_CLIENT_SECRET if the client
has a secret. Tokens are stored in ~/.config/a2a-cli/tokens.json, readable by you only, and sent only
to the agent they were issued for.`,
        examples: [
          'legate auth login agent.example --client-id my-app',
          'legate auth login agent.example --client-id my-app --flow authorization-code --scope openid',
          'A2ACLI_CLIENT_SECRET=… legate auth login -a agent.example --flow client-credentials --client-id ci',
        ],
        run: async () => (await load()).login,
      }),
      agentCommand('logout', {
        summary: 'delete the stored token for an agent',
        operands: [agentOperand],
        examples: ['legate auth logout agent.example'],
        run: async () => (await load()).logout,
      }),
    ],
  });
}

const configOptions = {
  config: value('file', '.env file to read (default: the nearest one)'),
  json,
};
export type ConfigCommandOptions = OptionsOf<typeof configOptions>;

export function configCommand(): Command {
  const show = command('show', {
    summary: 'print the settings from the environment and .env files, and where each comes from',
    options: configOptions,
    notes: `Precedence: flags, environment, the nearest .env file in this or a parent folder (or --config),
~/.config/a2a-cli/.env, defaults. Credentials are not printed.`,
    examples: ['A2ACLI_AGENT_CARD=agent.example legate config show'],
    run: async () => (await import('../client/settings.ts')).showConfig,
  });
  return command('config', {
    summary: 'print the settings for calls, and where each comes from',
    commands: [show],
  });
}
