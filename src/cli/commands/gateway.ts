import { Command, Option } from 'commander';
import {
  type BusPlaceOptions,
  count,
  positiveNumber,
  storeOption,
  withBus,
} from './bus-options.ts';
import { type LogLevel, logLevelOption, portOption } from './options.ts';

export interface GatewayCommandOptions extends BusPlaceOptions {
  readonly port: number;
  readonly interface: string;
  readonly url?: string;
  readonly name: string;
  readonly work?: readonly string[];
  readonly store?: string;
  readonly authToken?: string;
  readonly apiKeys?: string;
  readonly jwtSecret?: string;
  readonly jwksUrl?: string;
  readonly jwtMethod?: string;
  readonly jwtIssuer?: string;
  readonly jwtAudience?: string;
  readonly protectCard?: boolean;
  readonly requestsPerSecond?: number;
  readonly concurrentRequests?: number;
  readonly openStreams?: number;
  readonly pushHosts?: readonly string[];
  readonly cors?: readonly string[];
  readonly sslCertificate?: string;
  readonly sslKeyfile?: string;
  readonly dangerouslyAllowUnauthenticatedRemote?: boolean;
  readonly logLevel: LogLevel;
}

export function gatewayCommand(): Command {
  return withBus(new Command('gateway'))
    .argument(
      '<agents...>',
      'names on the bus; the first one is served at /, each one at /agents/{name}',
    )
    .addOption(portOption(8080))
    .option('-i, --interface <host>', 'address to listen on', '127.0.0.1')
    .option('--url <url>', 'public URL, for the agent cards')
    .option('--name <name>', 'name of the gateway on the bus', 'gateway')
    .option('--work <agent...>', 'agents to run in this process as well, as with "legate work"')
    .addOption(storeOption())
    .addOption(
      new Option('-t, --auth-token <token>', 'bearer token that callers must send').env(
        'AUTH_TOKEN',
      ),
    )
    .option(
      '--api-keys <file>',
      'JSON file with API keys: [{"subject": "bob", "key": "..."}]; callers send X-Api-Key',
    )
    .addOption(
      new Option('--jwt-secret <secret>', 'secret that verifies JWTs of callers').env('JWT_SECRET'),
    )
    .option('--jwks-url <url>', 'JWKS URL that verifies JWTs of callers')
    .option('--jwt-method <algorithm>', 'JWT algorithm (default: HS256, or RS256 with --jwks-url)')
    .option('--jwt-issuer <issuer>', 'required JWT issuer')
    .option('--jwt-audience <audience>', 'required JWT audience')
    .option('--protect-card', 'require authentication for the agent cards')
    .option('--requests-per-second <count>', 'rate limit per caller', positiveNumber)
    .option(
      '--concurrent-requests <count>',
      'concurrent requests per caller (default: 1000)',
      count,
    )
    .option('--open-streams <count>', 'open streams per caller (default: 100)', count)
    .option(
      '--push-hosts <host...>',
      'enable webhooks to exactly these hosts, private ones included; * for all public hosts',
    )
    .option('--cors <origin...>', 'allowed CORS origins; * for all')
    .option('--ssl-certificate <file>', 'TLS certificate (PEM); enables HTTPS')
    .option('--ssl-keyfile <file>', 'private key of the certificate (PEM)')
    .option(
      '--dangerously-allow-unauthenticated-remote',
      'listen on a non-loopback address without authentication',
    )
    .addOption(logLevelOption('info'))
    .addHelpText(
      'after',
      `
Several gateways can serve the same agents. Gateways with the same store share their tasks.

Examples:
  legate gateway researcher --bus-url amqp://localhost --port 8080
  AUTH_TOKEN=... legate gateway researcher bank -i 0.0.0.0 --requests-per-second 20
  legate gateway researcher --work examples/research/researcher.ts   (both in one process)`,
    )
    .action(async (agents: readonly string[], options: GatewayCommandOptions) => {
      const { serveGateway } = await import('../gateway.ts');
      await serveGateway(agents, options);
    });
}
