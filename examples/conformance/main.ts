/** `npm run conformance`: serves the conformance agent until stopped. */
import { parseArgs } from 'node:util';
import { type CardName, cardNames } from './cards.ts';
import { startConformance, startPlain } from './start.ts';

const usage = `npm run conformance -- [options]

  --port n             where to listen (default 9999)
  --grpc-port n        where gRPC listens (default the port after that)
  --card name          what the card declares: ${cardNames.join(', ')} (default full)
  --profile version    what an unnamed message gets: 1.0 completes, 0.3 asks for more (default 1.0)
  --errors edition     whose table of error statuses is followed: 1.0.1, 1.0.0 (default 1.0.1)
  --auth               every operation needs a bearer token, as the card then says
  --plain              serve() and grpcChannel() with their defaults; --card, --errors and --auth have no effect`;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9999' },
    'grpc-port': { type: 'string' },
    card: { type: 'string', default: 'full' },
    profile: { type: 'string', default: '1.0' },
    errors: { type: 'string', default: '1.0.1' },
    auth: { type: 'boolean', default: false },
    plain: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const { card, profile, errors } = values;
const port = Number(values.port);
const grpcPort = Number(values['grpc-port'] ?? port + 1);

if (values.help) {
  console.log(usage);
} else if (
  !isCardName(card) ||
  (profile !== '1.0' && profile !== '0.3') ||
  (errors !== '1.0.1' && errors !== '1.0.0') ||
  !Number.isInteger(port) ||
  !Number.isInteger(grpcPort)
) {
  console.error(usage);
  process.exitCode = 2;
} else {
  const start = values.plain ? startPlain : startConformance;
  const tokensFor = values.auth ? 'everything' : 'extended-card';
  const serving = await start({ card, profile, errors, port, grpcPort, tokensFor });
  const shown = values.plain ? 'defaults' : `card "${card}"`;
  console.log(`Conformance agent, ${shown}, profile ${profile}: ${serving.url}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void serving.close().then(() => process.exit());
    });
  }
}

function isCardName(name: string): name is CardName {
  return cardNames.some((known) => known === name);
}
