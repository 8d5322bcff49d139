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

const agentHelp = 'Calling the agent:';
const outputHelp = 'Output:';

export function withClient(command: Command): Command {
  const options = [
    option('-a, --agent-card <ref>', 'the agent: a host, the URL of it or of its card, or a file'),
    option(
      '--transport <binding>',
      'preferred: JSONRPC, HTTP+JSON or GRPC; repeat for a second choice',
      "the card's order",
    ).argParser(collect),
    option(
      '--a2a-version <version>',
      'protocol to speak: 1.0, or 0.3 for old agents',
      'the newest of the agent, at least 1.0',
    ),
    option('--bearer <token>', 'bearer token; better A2ACLI_BEARER, for flags show in ps'),
    option('--api-key <key>', 'API key; better A2ACLI_API_KEY, for flags show in ps'),
    option('--cert <file>', 'client certificate, PEM, for agents that ask for one (mutual TLS)'),
    option(
      '--key <file>',
      'its private key, PEM; A2ACLI_KEY_PASSPHRASE opens an encrypted one',
      'in the file of the certificate',
    ),
    option('--ca <file>', 'authorities to trust, PEM', 'those of Node'),
    option('--svc-param <name:value>', 'service parameter (a header) of every request').argParser(
      collect,
    ),
    option('-H, --header <name:value>', 'the same as --svc-param').argParser(collect),
    option('--extension <uri>', 'protocol extension to ask for; repeatable').argParser(collect),
    option('--timeout <duration>', 'give up after so long: 500ms, 30s, 5m', 'no limit'),
    option('--insecure', 'do not verify TLS certificates (development only)', 'verified'),
    option('--config <file>', 'settings from this .env file instead of the nearest one'),
  ];
  const outputs = [
    option('-o, --output <format>', 'text or json: the types of the protocol', 'text'),
    option('--json', 'the same as --output json'),
    option('--verbose', 'show every part and all that came with it', 'concise'),
    option('--debug', 'log what goes over the wire to standard error, credentials blacked out'),
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
  return option('--stream', 'JSON on one line, for readers that go by lines');
}

export function awaitAuthOption(): Option {
  return option(
    '--await-auth',
    'wait on while the agent waits for somebody to be let in elsewhere',
    'stop and say where',
  );
}

export function pollIntervalOption(): Option {
  return option(
    '--poll-interval <duration>',
    'how often to look where agents do not stream',
    '2s, growing',
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
  throw new InvalidArgumentError('It must be a whole number.');
}

/** The note that closes the help of every command that calls an agent. */
export const clientNotes = `
The agent is named by --agent-card, or by A2ACLI_AGENT_CARD, or else by the first argument.
Every flag can be set as A2ACLI_<FLAG> in the environment or in a .env file ("legate config show").`;
