import { statSync } from 'node:fs';
import { Command } from 'commander';
import { type ClientCommandOptions, collect, option } from './client-options.ts';
import { type LogLevel, logLevelOption, type PlaceOptions, withPlaces } from './options.ts';

export interface ShellCommandOptions extends PlaceOptions, AgentFlags {
  readonly model?: string;
  readonly sender: string;
  readonly contextId?: string;
  readonly logLevel: LogLevel;
}

/** What of the flags is for agents. */
type AgentFlags = Omit<ClientCommandOptions, 'config' | 'output' | 'json' | 'verbose' | 'timeout'>;

export function shellCommand(): Command {
  const places = withPlaces(new Command('shell'), 'assistant folder, or any A2A agent');
  return withAgentFlags(places)
    .option('-m, --model <file>', 'packed model, or a folder whose newest model is used')
    .option('--sender <id>', 'sender id of the conversation', 'shell')
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
Each line is one message. /stop or end of input ends the conversation, /restart starts a new one, /help
lists all commands. Nothing is stored. Name an agent as for "legate send"; the connection options can
also be set as A2ACLI_<FLAG> in the environment or in a .env file.

Examples:
  legate shell examples/bank
  legate shell http://localhost:8000
  A2ACLI_BEARER=… legate shell agent.example --transport grpc
  echo "what is my balance?" | legate shell examples/bank`,
    )
    .action(async (directory: string, options: ShellCommandOptions) => {
      const agent = options.agentCard ?? (isAgent(directory) ? directory : undefined);
      if (agent !== undefined) {
        const { remoteShell } = await import('../remote-shell.ts');
        await remoteShell(agent, options);
        return;
      }
      const { shell } = await import('../shell.ts');
      await shell(directory, options);
    });
}

function withAgentFlags(command: Command): Command {
  const flags = [
    option('-a, --agent-card <ref>', 'the agent: host, URL, card URL or card file'),
    option('--context-id <id>', 'continue this conversation'),
    option('--transport <binding>', 'preferred transport: JSONRPC, HTTP+JSON or GRPC').argParser(
      collect,
    ),
    option(
      '--a2a-version <version>',
      'protocol version: 1.0 or 0.3',
      'the newest that the agent supports',
    ),
    option('--bearer <token>', 'bearer token; prefer A2ACLI_BEARER'),
    option('--api-key <key>', 'API key; prefer A2ACLI_API_KEY'),
    option('--cert <file>', 'client certificate for mutual TLS (PEM)'),
    option('--key <file>', 'private key of the certificate (PEM)', 'in the certificate file'),
    option('--ca <file>', 'CA certificates to trust (PEM)', "Node's"),
    option('--svc-param <name:value>', 'service parameter (header) to send; repeatable').argParser(
      collect,
    ),
    option('--extension <uri>', 'protocol extension to request; repeatable').argParser(collect),
    option('--insecure', 'skip TLS certificate verification, for development (default: verified)'),
    option('--debug', 'log requests and responses, with credentials redacted'),
  ];
  for (const flag of flags) command.addOption(flag.helpGroup('Connection to an agent:'));
  return command;
}

/** A URL, the card of an agent, or a host; folders are projects, whatever their names look like. */
function isAgent(text: string): boolean {
  if (/^(?:https?|file):/i.test(text)) return true;
  if (statSync(text, { throwIfNoEntry: false })?.isDirectory() === true) return false;
  const isHost = /^(?:localhost|\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)+)(?::\d+)?(?:\/|$)/i.test(text);
  return isHost || /\.json(?:#|$)/.test(text) || /^[\w.-]+:\d+(?:\/|$)/.test(text);
}
