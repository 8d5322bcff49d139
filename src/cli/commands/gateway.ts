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
      'their names on the bus; the first is at the root, each at /agents/{name}',
    )
    .addOption(portOption(8080))
    .option('-i, --interface <host>', 'address to listen on', '127.0.0.1')
    .option('--url <url>', 'where callers reach it, for the cards')
    .option('--name <name>', 'the name of the gateway on the bus', 'gateway')
    .option('--work <agent...>', 'agents to host in this process too, as with "legate work"')
    .addOption(storeOption())
    .addOption(
      new Option('-t, --auth-token <token>', 'the bearer token that callers must have').env(
        'AUTH_TOKEN',
      ),
    )
    .option('--api-keys <file>', 'JSON: [{"subject": "bob", "key": "..."}], sent as X-Api-Key')
    .addOption(new Option('--jwt-secret <secret>', 'verifies tokens of callers').env('JWT_SECRET'))
    .option('--jwks-url <url>', 'verifies tokens of callers by these public keys')
    .option('--jwt-method <algorithm>', 'how they are signed (default: HS256, or RS256 by keys)')
    .option('--jwt-issuer <issuer>', 'who must have issued them')
    .option('--jwt-audience <audience>', 'whom they must be for')
    .option('--protect-card', 'show the cards to authenticated callers only')
    .option('--requests-per-second <count>', 'of one caller', positiveNumber)
    .option('--concurrent-requests <count>', 'of one caller (default: 1000)', count)
    .option('--open-streams <count>', 'of one caller (default: 100)', count)
    .option(
      '--push-hosts <host...>',
      'open webhooks, to hosts of exactly these names, private ones too; * for all public ones',
    )
    .option('--cors <origin...>', 'web pages that may call: origins, or * for all')
    .option('--ssl-certificate <file>', 'serve HTTPS with this certificate (PEM)')
    .option('--ssl-keyfile <file>', 'its private key (PEM)')
    .option(
      '--dangerously-allow-unauthenticated-remote',
      'listen where others can reach without asking who they are',
    )
    .addOption(logLevelOption('info'))
    .addHelpText(
      'after',
      `
Any number of gateways may stand before the same agents; those with one store share their tasks.

Examples:
  legate gateway researcher --bus-url amqp://localhost --port 8080
  AUTH_TOKEN=... legate gateway researcher bank -i 0.0.0.0 --requests-per-second 20
  legate gateway researcher --work examples/research/researcher.ts   (one process does both)`,
    )
    .action(async (agents: readonly string[], options: GatewayCommandOptions) => {
      const { serveGateway } = await import('../gateway.ts');
      await serveGateway(agents, options);
    });
}
