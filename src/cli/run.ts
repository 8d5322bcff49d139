import { statSync } from 'node:fs';
import type { AssistantServing, ServeAssistantOptions } from '../assistant/index.ts';
import type { InspectorOptions, ServeOptions } from '../http/index.ts';
import { LegateError } from '../protocol/index.ts';
import { callBindings } from './call-bindings.ts';
import type { RunCommandOptions } from './commands/assistants.ts';
import { packageVersion } from './commands/version.ts';
import { greetingOf } from './greeting.ts';
import { checkListenFlags } from './listen-guard.ts';
import { createLogger } from './logger.ts';
import { openPage } from './open-page.ts';
import { modelFile, placesOf, projectPlacesOf } from './places.ts';
import { Progress } from './progress.ts';
import { type ServedModule, serveModule } from './serve-module.ts';
import { untilSignal } from './signals.ts';

/** Serves an assistant, or the agent of a module, until told to stop. */
export async function run(
  place: string,
  /** `open` shows the inspector in a browser: what `inspect` does. */
  options: RunCommandOptions & { readonly open?: boolean },
): Promise<void> {
  const found = statSync(place, { throwIfNoEntry: false });
  const isModule = found?.isFile() === true;
  if (found === undefined) throw nothingAt(place);
  await using served = isModule
    ? await startModule(place, options)
    : await startAssistant(place, options);
  console.log(served.greeting);
  if (options.open === true && served.inspectorUrl !== undefined) openPage(served.inspectorUrl);
  await untilSignal();
  console.error('Stopping: waiting for running turns.');
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
    `no such file or folder: ${place}; name the folder of an assistant, or a module that exports an agent`,
  );
}

interface Started extends AsyncDisposable {
  readonly inspectorUrl: string | undefined;
  readonly greeting: string;
}

async function startModule(place: string, options: RunCommandOptions): Promise<Started> {
  checkListenFlags(options, options.authToken !== undefined);
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
export function inspectorOptions({
  inspectToken,
}: Pick<RunCommandOptions, 'inspectToken'>): InspectorOptions {
  return {
    proxy: true,
    version: packageVersion(),
    ...(inspectToken !== undefined && { token: inspectToken }),
  };
}

export function agentGreeting({ agent, serving, file }: ServedModule): string {
  const { url, inspectorUrl } = serving;
  return greetingOf({
    what: `the agent "${agent.name}"`,
    url,
    inspectorUrl,
    hasCard: true,
    data: file ?? 'in memory, lost when the server stops',
    command: `npx legate send ${url} "hello"`,
  });
}

async function startAssistant(directory: string, options: RunCommandOptions): Promise<Started> {
  const logger = createLogger(options.logLevel);
  const model = modelFile(options.model);
  using progress = new Progress('Loading the assistant');
  // Agents of modules need none of it.
  const { serveAssistant } = await import('../assistant/index.ts');
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

function greeting({ url, inspectorUrl, models, storage }: AssistantServing): string {
  const { project } = models.require();
  const flows = [...project.flows.values()].filter((flow) => !flow.isPattern);
  const words = flows.find((flow) => flow.examples.length > 0)?.examples[0] ?? 'hello';
  const body = JSON.stringify({ sender: 'me', message: words }).replaceAll("'", String.raw`'\''`);
  return greetingOf({
    what: `the assistant "${project.name}"`,
    url,
    inspectorUrl,
    hasCard: project.endpoints.a2aServer !== undefined,
    data: placeOf(storage),
    command: `curl ${url}/webhooks/rest/webhook -H 'Content-Type: application/json' -d '${body}'`,
  });
}

/** Where data is stored, for people; URLs of databases may contain a password. */
function placeOf(storage: AssistantServing['storage']): string {
  if (!('type' in storage)) return 'a custom store';
  if (storage.type === 'sqlite') return storage.path;
  return storage.type === 'memory' ? 'in memory, lost when the server stops' : 'PostgreSQL';
}
