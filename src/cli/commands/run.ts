import { Command, Option } from 'commander';
import {
  type InspectTokenOptions,
  inspectTokenOption,
  type LogLevel,
  logLevelOption,
  type PlaceOptions,
  portOption,
  withPlaces,
} from './options.ts';

export interface RunCommandOptions extends PlaceOptions, InspectTokenOptions {
  readonly model?: string;
  readonly port: number;
  readonly interface: string;
  readonly inspect?: boolean;
  /** Shows the inspector in a browser: what `inspect` does. */
  readonly open?: boolean;
  readonly enableApi?: boolean;
  readonly authToken?: string;
  readonly jwtSecret?: string;
  readonly jwtMethod: string;
  readonly jwtWithoutExpiry?: boolean;
  readonly sslCertificate?: string;
  readonly sslKeyfile?: string;
  readonly sslCaFile?: string;
  readonly sslPassword?: string;
  readonly cors?: readonly string[];
  readonly dangerouslyAllowUnauthenticatedRemote?: boolean;
  readonly logLevel: LogLevel;
}

export function runCommand(): Command {
  return withPlaces(new Command('run'), 'folder of an assistant, or module that exports an agent')
    .option('-m, --model <file>', 'a packed model (see train), or the newest of a folder of them')
    .addOption(portOption(5005))
    .option('-i, --interface <host>', 'address to listen on', '127.0.0.1')
    .option('--inspect', 'show what goes on as a page, at the link that is printed')
    .addOption(inspectTokenOption())
    .option('--enable-api', 'open the HTTP API: trackers, domain, flows, model')
    .addOption(
      new Option(
        '-t, --auth-token <token>',
        'token that the HTTP API asks for; of a module, the agent itself',
      ).env('AUTH_TOKEN'),
    )
    .addOption(
      new Option(
        '--jwt-secret <secret>',
        'verifies the users of the HTTP API; a public key in PEM for RS, ES, PS',
      ).env('JWT_SECRET'),
    )
    .addOption(
      new Option('--jwt-method <algorithm>', 'how their tokens are signed')
        .choices(['HS256', 'HS384', 'HS512', 'RS256', 'RS512', 'ES256', 'ES512', 'PS256'])
        .default('HS256')
        .env('JWT_METHOD'),
    )
    .option('--jwt-without-expiry', 'accept tokens that have no exp claim and never expire')
    .option('--ssl-certificate <file>', 'serve HTTPS with this certificate (PEM)')
    .option('--ssl-keyfile <file>', 'its private key (PEM)')
    .option('--ssl-ca-file <file>', 'authorities of client certificates (PEM)')
    .addOption(new Option('--ssl-password <password>', 'of the private key').env('SSL_PASSWORD'))
    .option('--cors <origin...>', 'web pages that may call: origins, or * for all')
    .option(
      '--dangerously-allow-unauthenticated-remote',
      'listen for other machines without asking who calls',
    )
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
Examples:
  legate run                                   the project in this folder
  legate run examples/bank -p 8080             another one, on another port
  legate run agent.ts --inspect                an agent in code, and the inspector
  legate run -m models --enable-api -t secret  the newest packed model, with the HTTP API`,
    )
    .action(async (directory: string, options: RunCommandOptions) => {
      const { run } = await import('../run.ts');
      await run(directory, options);
    });
}
