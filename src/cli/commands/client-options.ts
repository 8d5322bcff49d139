import { type Command, InvalidArgumentError, Option } from 'commander';

/**
 * What every command that calls an agent takes. Each flag has an environment variable of the same
 * name, `--agent-card` for instance `A2ACLI_AGENT_CARD`; defaults are filled in when it runs.
 */
export interface ClientCommandOptions {
  readonly agentCard?: string;
  readonly a2aVersion?: string;
  readonly transport?: readonly string[];
  readonly bearer?: string;
  readonly apiKey?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly svcParam?: readonly string[];
  readonly header?: readonly string[];
  readonly extension?: readonly string[];
  readonly insecure?: boolean;
  readonly output?: string;
  readonly json?: boolean;
  readonly timeout?: string;
  readonly config?: string;
  readonly verbose?: boolean;
  readonly debug?: boolean;
}

const agentHelp = 'Connection:';
const outputHelp = 'Output:';

export function withClient(command: Command): Command {
  const options = [
    option('-a, --agent-card <ref>', 'the agent: host, URL, card URL or card file'),
    option(
      '--transport <binding>',
      'preferred transport: JSONRPC, HTTP+JSON or GRPC; repeat for fallbacks',
      "the card's order",
    ).argParser(collect),
    option(
      '--a2a-version <version>',
      'protocol version: 1.0 or 0.3',
      'the newest that the agent supports, at least 1.0',
    ),
    option('--bearer <token>', 'bearer token; prefer A2ACLI_BEARER, since flags are visible in ps'),
    option('--api-key <key>', 'API key; prefer A2ACLI_API_KEY, since flags are visible in ps'),
    option('--cert <file>', 'client certificate for mutual TLS (PEM)'),
    option(
      '--key <file>',
      'private key of the certificate (PEM); set A2ACLI_KEY_PASSPHRASE if it is encrypted',
      'in the certificate file',
    ),
    option('--ca <file>', 'CA certificates to trust (PEM)', "Node's"),
    option('--svc-param <name:value>', 'service parameter (header) to send; repeatable').argParser(
      collect,
    ),
    option('-H, --header <name:value>', 'alias of --svc-param').argParser(collect),
    option('--extension <uri>', 'protocol extension to request; repeatable').argParser(collect),
    option('--timeout <duration>', 'time limit: 500ms, 30s, 5m', 'none'),
    option('--insecure', 'skip TLS certificate verification, for development (default: verified)'),
    option('--config <file>', '.env file with settings', 'the nearest one'),
  ];
  const outputs = [
    option('-o, --output <format>', 'text, or json for A2A objects', 'text'),
    option('--json', 'alias of --output json'),
    option('--verbose', 'print all parts and metadata (default: concise)'),
    option('--debug', 'log requests and responses to standard error, with credentials redacted'),
  ];
  for (const one of options) command.addOption(one.helpGroup(agentHelp));
  for (const one of outputs) command.addOption(one.helpGroup(outputHelp));
  return command;
}

/** How a command waits for a task. */
export interface WaitCommandOptions {
  readonly wait?: boolean;
  readonly pollInterval?: string;
}

/** Of commands whose result is one object anyway (A2A CLI specification, appendix B). */
export function lineOption(): Option {
  return option('--stream', 'print JSON on one line');
}

export function awaitAuthOption(): Option {
  return option(
    '--await-auth',
    'keep waiting while the task is in auth-required',
    'stop and print where to authorize',
  );
}

export function pollIntervalOption(): Option {
  return option(
    '--poll-interval <duration>',
    'polling interval for agents that do not stream',
    '2s, increasing',
  );
}

/** An option whose default is filled in when the command runs, and shown in its help. */
export function option(flags: string, description: string, standard?: string): Option {
  return new Option(
    flags,
    standard === undefined ? description : `${description} (default: ${standard})`,
  );
}

export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

export function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0 && text.trim() !== '') return number;
  throw new InvalidArgumentError('Must be a non-negative integer.');
}

/** The note that closes the help of every command that calls an agent. */
export const clientNotes = `
Name the agent with --agent-card, A2ACLI_AGENT_CARD or the first argument. Every flag can also be set
as A2ACLI_<FLAG> in the environment or in a .env file (see "legate config show").`;
