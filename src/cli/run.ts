import { statSync } from 'node:fs';
import {
  type AssistantServing,
  type InspectorOptions,
  serveAssistant,
  type ServeAssistantOptions,
  type ServeOptions,
} from '../http/index.ts';
import { LegateError } from '../protocol/index.ts';
import { callBindings } from './call-bindings.ts';
import type { InspectTokenOptions } from './commands/options.ts';
import type { RunCommandOptions } from './commands/run.ts';
import { packageVersion } from './commands/version.ts';
import { createLogger } from './logger.ts';
import { openPage } from './open-page.ts';
import { modelFile, placesOf, projectPlacesOf } from './places.ts';
import { Progress } from './progress.ts';
import { type ServedModule, serveModule } from './serve-module.ts';
import { untilSignal } from './signals.ts';

/** Serves an assistant, or the agent of a module, until told to stop. */
export async function run(place: string, options: RunCommandOptions): Promise<void> {
  const found = statSync(place, { throwIfNoEntry: false });
  const isModule = found?.isFile() === true;
  if (found === undefined) throw nothingAt(place);
  await using served = isModule
    ? await startModule(place, options)
    : await startAssistant(place, options);
  console.log(served.greeting);
  if (options.open === true && served.inspectorUrl !== undefined) openPage(served.inspectorUrl);
  await untilSignal();
  console.error('Stopping: waiting for what is under way.');
}

function shutdownOf({
  notice,
  drain,
}: RunCommandOptions): Pick<ServeOptions, 'noticeMs' | 'drainMs'> {
  return {
    ...(notice !== undefined && { noticeMs: notice }),
    ...(drain !== undefined && { drainMs: drain }),
  };
}

function nothingAt(place: string): LegateError {
  return new LegateError(
    'CONFIGURATION_INVALID',
    `there is nothing at ${place}; name the folder of an assistant, or a module that exports an agent`,
  );
}

interface Started extends AsyncDisposable {
  readonly inspectorUrl: string | undefined;
  readonly greeting: string;
}

async function startModule(place: string, options: RunCommandOptions): Promise<Started> {
  const served = await serveModule(place, {
    port: options.port,
    host: options.interface,
    ...tlsOf(options),
    ...shutdownOf(options),
    cors: options.cors ?? [],
    dangerouslyAllowUnauthenticatedRemote: options.dangerouslyAllowUnauthenticatedRemote === true,
    ...(options.authToken !== undefined && { token: options.authToken }),
    ...(options.inspect === true && { inspect: inspectorOptions(options) }),
    ...(options.endpoints !== undefined && { endpoints: options.endpoints }),
    logLevel: options.logLevel,
  });
  const { inspectorUrl } = served.serving;
  return {
    inspectorUrl,
    greeting: agentGreeting(served),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** The page may call other agents, too: it is for whoever runs the command. */
export function inspectorOptions({ inspectToken }: InspectTokenOptions): InspectorOptions {
  return {
    proxy: true,
    version: packageVersion(),
    ...(inspectToken !== undefined && { token: inspectToken }),
  };
}

export function agentGreeting({ agent, serving, file }: ServedModule): string {
  const { url, inspectorUrl } = serving;
  return [
    `Serving the agent "${agent.name}" at ${url}`,
    '',
    'Talk to it:',
    `  legate send ${url} "hello"`,
    '',
    `Card:   ${url}/.well-known/agent-card.json`,
    ...(inspectorUrl === undefined ? [] : [`Look:   ${inspectorUrl}`]),
    `Tasks:  kept in ${file ?? 'memory, until it stops'}`,
    'Stop:   Ctrl+C',
  ].join('\n');
}

async function startAssistant(directory: string, options: RunCommandOptions): Promise<Started> {
  const logger = createLogger(options.logLevel);
  const model = modelFile(options.model);
  using progress = new Progress('Loading the assistant');
  const serving = await serveAssistant({
    places: (model === undefined ? projectPlacesOf : placesOf)(directory, options),
    ...(model !== undefined && { model }),
    port: options.port,
    host: options.interface,
    ...tlsOf(options),
    ...shutdownOf(options),
    enableApi: options.enableApi === true,
    api: {
      ...(options.authToken !== undefined && { token: options.authToken }),
      ...(options.jwtSecret !== undefined && {
        jwt: {
          secret: options.jwtSecret,
          algorithm: options.jwtMethod,
          requireExpiry: options.jwtWithoutExpiry !== true,
        },
      }),
    },
    cors: options.cors ?? [],
    dangerouslyAllowUnauthenticatedRemote: options.dangerouslyAllowUnauthenticatedRemote === true,
    build: { bindings: callBindings },
    version: packageVersion(),
    ...(options.inspect === true && { inspect: inspectorOptions(options) }),
    logger,
  });
  progress.clear();
  return {
    inspectorUrl: serving.inspectorUrl,
    greeting: greeting(serving),
    [Symbol.asyncDispose]: () => serving.close(),
  };
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
function greeting({ url, inspectorUrl, models, storage }: AssistantServing): string {
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
    ...(inspectorUrl === undefined ? [] : [`Look:   ${inspectorUrl}`]),
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
