import { Command, Option } from 'commander';
import {
  type InspectTokenOptions,
  inspectTokenOption,
  type LogLevel,
  logLevelOption,
  type PlaceOptions,
  portOption,
  readSeconds,
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
  /** Milliseconds. */
  readonly notice?: number;
  /** Milliseconds. */
  readonly drain?: number;
  readonly logLevel: LogLevel;
}

export function runCommand(): Command {
  return withPlaces(new Command('run'), 'assistant folder, or module that exports an agent')
    .option(
      '-m, --model <file>',
      'packed model (see train), or a folder whose newest model is used',
    )
    .addOption(portOption(5005))
    .option('-i, --interface <host>', 'address to listen on', '127.0.0.1')
    .option('--inspect', 'serve the inspector UI at the printed link')
    .addOption(inspectTokenOption())
    .option('--enable-api', 'enable the HTTP API: trackers, domain, flows, model')
    .addOption(
      new Option(
        '-t, --auth-token <token>',
        'token that the HTTP API requires; for a module, that the agent requires',
      ).env('AUTH_TOKEN'),
    )
    .addOption(
      new Option(
        '--jwt-secret <secret>',
        'secret that verifies JWTs for the HTTP API; a PEM public key for RS, ES, PS',
      ).env('JWT_SECRET'),
    )
    .addOption(
      new Option('--jwt-method <algorithm>', 'JWT algorithm')
        .choices(['HS256', 'HS384', 'HS512', 'RS256', 'RS512', 'ES256', 'ES512', 'PS256'])
        .default('HS256')
        .env('JWT_METHOD'),
    )
    .option('--jwt-without-expiry', 'accept JWTs without an exp claim, which never expire')
    .option('--ssl-certificate <file>', 'TLS certificate (PEM); enables HTTPS')
    .option('--ssl-keyfile <file>', 'private key of the certificate (PEM)')
    .option('--ssl-ca-file <file>', 'CA certificates for client certificates (PEM)')
    .addOption(
      new Option('--ssl-password <password>', 'passphrase of the private key').env('SSL_PASSWORD'),
    )
    .option('--cors <origin...>', 'allowed CORS origins; * for all')
    .option(
      '--dangerously-allow-unauthenticated-remote',
      'listen on a non-loopback address without authentication',
    )
    .option(
      '--notice <seconds>',
      'on SIGTERM, answer 503 at /ready for this long before closing the port (default: 5 if /ready is polled, otherwise 0)',
      readSeconds,
    )
    .option(
      '--drain <seconds>',
      'then let turns in flight end for this long (default: 20)',
      readSeconds,
    )
    .addOption(logLevelOption('warn'))
    .addHelpText(
      'after',
      `
Examples:
  legate run                                   the project in this folder
  legate run examples/bank -p 8080             another project on another port
  legate run agent.ts --inspect                an agent in code, with the inspector
  legate run -m models --enable-api -t secret  the newest packed model with the HTTP API`,
    )
    .action(async (directory: string, options: RunCommandOptions) => {
      const { run } = await import('../run.ts');
      await run(directory, options);
    });
}
