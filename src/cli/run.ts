import {
  type AssistantServing,
  serveAssistant,
  type ServeAssistantOptions,
} from '../http/index.ts';
import { LegateError } from '../protocol/index.ts';
import type { RunCommandOptions } from './commands/run.ts';
import { packageVersion } from './commands/version.ts';
import { createLogger } from './logger.ts';
import { modelFile, placesOf } from './places.ts';
import { untilSignal } from './signals.ts';

/** Serves an assistant until told to stop. */
export async function run(directory: string, options: RunCommandOptions): Promise<void> {
  const logger = createLogger(options.logLevel);
  const model = modelFile(options.model);
  await using serving = await serveAssistant({
    places: placesOf(directory, options),
    ...(model !== undefined && { model }),
    port: options.port,
    host: options.interface,
    ...tlsOf(options),
    enableApi: options.enableApi === true,
    api: {
      ...(options.authToken !== undefined && { token: options.authToken }),
      ...(options.jwtSecret !== undefined && {
        jwt: { secret: options.jwtSecret, algorithm: options.jwtMethod },
      }),
    },
    cors: options.cors ?? [],
    dangerouslyAllowUnauthenticatedRemote: options.dangerouslyAllowUnauthenticatedRemote === true,
    version: packageVersion(),
    logger,
  });
  console.log(greeting(serving));
  await untilSignal();
  console.error('Stopping: waiting for what is under way.');
}

function tlsOf(options: RunCommandOptions): Pick<ServeAssistantOptions, 'tls'> {
  const { sslCertificate, sslKeyfile, sslCaFile, sslPassword } = options;
  if (sslCertificate === undefined && sslKeyfile === undefined) return {};
  if (sslCertificate === undefined || sslKeyfile === undefined) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      'HTTPS needs both --ssl-certificate and --ssl-keyfile',
    );
  }
  return {
    tls: {
      certificate: sslCertificate,
      key: sslKeyfile,
      ...(sslCaFile !== undefined && { ca: sslCaFile }),
      ...(sslPassword !== undefined && { password: sslPassword }),
    },
  };
}

/** How to reach it, with commands to paste. */
function greeting({ url, models, storage }: AssistantServing): string {
  const { project } = models.require();
  const { a2aServer } = project.endpoints;
  const flows = [...project.flows.values()].filter((flow) => !flow.isPattern);
  const words = flows.find((flow) => flow.examples.length > 0)?.examples[0] ?? 'hello';
  const quote = (value: unknown): string => JSON.stringify(value).replaceAll("'", String.raw`'\''`);
  const json = `-H 'Content-Type: application/json' -d`;
  const talk = `curl ${url}/webhooks/rest/webhook ${json} '${quote({ sender: 'me', message: words })}'`;
  const send = {
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: {
      message: {
        kind: 'message',
        messageId: 'NOW',
        contextId: 'me',
        role: 'user',
        parts: [{ kind: 'text', text: words }],
      },
    },
  };
  // A message with an id that was used before would only be answered as it was then.
  const request = quote(send).replace('NOW', `'$(date +%s)'`);
  const lines = [
    `Serving the assistant "${project.name}" at ${url}`,
    '',
    'Talk to it:',
    `  ${talk}`,
    ...(a2aServer === undefined
      ? []
      : [
          '',
          'As an agent:',
          `  curl ${url} ${json} '${request}'`,
          '',
          `Card:   ${url}/.well-known/agent-card.json`,
        ]),
    `Data:   kept in ${placeOf(storage)}`,
    'Stop:   Ctrl+C',
  ];
  return lines.join('\n');
}

/** Where data is kept, for people; addresses of databases may hold a password. */
function placeOf(storage: AssistantServing['storage']): string {
  if (!('type' in storage)) return 'a store of its own';
  if (storage.type === 'sqlite') return storage.path;
  return storage.type === 'memory' ? 'memory, until it stops' : 'PostgreSQL';
}
