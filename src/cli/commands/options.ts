import { type Command, InvalidArgumentError, Option } from 'commander';

export function portOption(standard: number): Option {
  return new Option('-p, --port <port>', 'port to listen on; 0 for any free port')
    .default(standard)
    .argParser(readPort);
}

export function readPort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535 && text.trim() !== '') return port;
  throw new InvalidArgumentError('Must be an integer from 0 to 65535.');
}

/** Seconds on the command line, as milliseconds. */
export function readSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && seconds >= 0 && seconds <= 86_400) return Math.round(seconds * 1_000);
  throw new InvalidArgumentError('It must be a number of seconds from 0 to 86400.');
}

/** Where the parts of a project are, when not in their usual places. */
export interface PlaceOptions {
  readonly config?: string;
  readonly domain?: string;
  readonly data?: readonly string[];
  readonly endpoints?: string;
  readonly credentials?: string;
  readonly subAgents?: string;
}

export function withPlaces(command: Command, what = 'project folder'): Command {
  return command
    .argument('[directory]', what, '.')
    .option('--config <file>', 'configuration file (default: config.yml)')
    .option('--domain <path>', 'domain file or folder (default: domain.yml and domain/)')
    .option('--data <path...>', 'files or folders with flows (default: data/)')
    .option('--endpoints <file>', 'endpoints file (default: endpoints.yml)')
    .option('--credentials <file>', 'credentials file (default: credentials.yml)')
    .option('--sub-agents <folder>', 'folder of sub agents (default: sub_agents/)');
}

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export function logLevelOption(standard: LogLevel): Option {
  return new Option('--log-level <level>', 'minimum level of log lines on standard error')
    .choices(logLevels)
    .default(standard)
    .env('LOG_LEVEL');
}

export interface InspectTokenOptions {
  readonly inspectToken?: string;
}

/** The token in the link of the inspector. */
export function inspectTokenOption(): Option {
  return new Option(
    '--inspect-token <token>',
    'the token in the link of the inspector (default: a random one)',
  ).env('INSPECT_TOKEN');
}
