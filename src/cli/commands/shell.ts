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
  const places = withPlaces(new Command('shell'), 'folder of an assistant, or any A2A agent');
  return withAgentFlags(places)
    .option('-m, --model <file>', 'a packed model, or the newest of a folder of them')
    .option('--sender <id>', 'who speaks', 'shell')
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
One line is one message. /stop or the end of the input ends the conversation, /restart begins a
new one, /help tells what else there is. Nothing is kept here. An agent is named as in "legate send"; its
flags can be set as A2ACLI_<FLAG> in the environment or in a .env file.

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
    option('-a, --agent-card <ref>', 'the agent: a host, the URL of it or of its card, or a file'),
    option('--context-id <id>', 'go on with this conversation'),
    option('--transport <binding>', 'preferred: JSONRPC, HTTP+JSON or GRPC').argParser(collect),
    option('--a2a-version <version>', '1.0 or 0.3', 'the newest it speaks'),
    option('--bearer <token>', 'bearer token; better A2ACLI_BEARER'),
    option('--api-key <key>', 'API key; better A2ACLI_API_KEY'),
    option('--cert <file>', 'client certificate, PEM (mutual TLS)'),
    option('--key <file>', 'its private key, PEM', 'in the file of the certificate'),
    option('--ca <file>', 'authorities to trust, PEM', 'those of Node'),
    option('--svc-param <name:value>', 'a header of every request').argParser(collect),
    option('--extension <uri>', 'protocol extension to ask for; repeatable').argParser(collect),
    option('--insecure', 'do not verify TLS certificates (development only)', 'verified'),
    option('--debug', 'log what goes over the wire, credentials blacked out'),
  ];
  for (const flag of flags) command.addOption(flag.helpGroup('Talking to an agent:'));
  return command;
}

/** A URL, the card of an agent, or a host; folders are projects, whatever their names look like. */
function isAgent(text: string): boolean {
  if (/^(?:https?|file):/i.test(text)) return true;
  if (statSync(text, { throwIfNoEntry: false })?.isDirectory() === true) return false;
  const isHost = /^(?:localhost|\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)+)(?::\d+)?(?:\/|$)/i.test(text);
  return isHost || /\.json(?:#|$)/.test(text) || /^[\w.-]+:\d+(?:\/|$)/.test(text);
}
