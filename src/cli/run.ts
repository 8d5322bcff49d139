import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { present } from '../config/index.ts';
import { telemetryOf } from '../http/index.ts';
import { Opened } from '../service/index.ts';
import { openStore, storeOptionsOf } from '../store/index.ts';
import { retentionOf } from '../tasks/index.ts';
import type { RunCommandOptions } from './commands/assistants.ts';
import { packageVersion } from './commands/version.ts';
import { configuredServer, configuredStore, type Endpoints, readEndpoints } from './endpoints.ts';
import { exampleRequests } from './example-requests.ts';
import { loadAgent } from './load-agent.ts';
import { createServerLogger } from './logger.ts';
import { moduleTarget } from './module-target.ts';
import type { CommandPeers, PeersOptions } from './peers.ts';
import {
  callBindings,
  existingProjectPaths,
  modelFile,
  projectFiles,
  projectPaths,
} from './project-files.ts';
import { privateAuthority } from './private-ca.ts';
import { Progress } from './progress.ts';
import {
  checkListenFlags,
  greetUntilSignal,
  inspectorOptions,
  listenOptions,
  serveAgent,
  type Started,
} from './serving.ts';
import { ignoreHangup } from './signals.ts';
import { usage } from './usage.ts';

/** Serves an assistant, or the agent of a module, until the process is stopped. */
export async function run(target: string, options: RunCommandOptions): Promise<void> {
  ignoreHangup();
  const isModule = moduleTarget(target) !== undefined;
  if (isActionServer(target)) {
    console.error(
      'legate: nothing to do: "legate run" starts the action server itself, with the assistant; type it in the folder of the project',
    );
    return;
  }
  if (!isModule && !existsSync(target)) {
    throw usage(
      `no such file or folder: ${target}; name the folder of an assistant, or a module that exports an agent`,
    );
  }
  await using started = isModule
    ? await startModule(target, options)
    : await startAssistant(target, options);
  await greetUntilSignal(started, options);
  console.error('Stopping: waiting for running turns.');
}

/** Whether the target is `actions`: Rasa users start the action server of their Python actions this way. */
function isActionServer(target: string): boolean {
  if (basename(target) !== 'actions') return false;
  const found = statSync(target, { throwIfNoEntry: false });
  if (found === undefined) return target === 'actions';
  if (!found.isDirectory()) return false;
  const isAssistant = ['config.yml', 'domain.yml', 'domain'].some((name) =>
    existsSync(join(target, name)),
  );
  return !isAssistant && readdirSync(target).some((name) => name.endsWith('.py'));
}

function serveOptions(options: RunCommandOptions) {
  return {
    ...listenOptions(options),
    ...present({ noticeMs: options.notice, drainMs: options.drain }),
    showErrors: options.showErrors === true,
    ...(options.inspect === true && { inspect: inspectorOptions(options) }),
    logger: createServerLogger(options.logLevel),
  };
}

/** Stores tasks beside the module, unless endpoints.yml configures a store. */
async function startModule(module: string, options: RunCommandOptions): Promise<Started> {
  const serving = serveOptions(options);
  const { logger } = serving;
  const { agent, directory, storeFile, files } = await loadAgent(module, serving);
  const { name } = agent;
  const { endpoints: file } = options;
  const endpoints = await readEndpoints(directory, {
    ...present({ endpoints: file }),
    ignoresBus: true,
    serves: true,
  });
  const auth = endpoints.server?.auth;
  const isAuthenticated = options.authToken !== undefined || auth !== undefined;
  checkListenFlags(options, isAuthenticated || options.sslCaFile !== undefined);
  const storage = configuredStore(endpoints, undefined, storeFile);
  // Resources are closed in reverse order, also when a later step fails.
  await using opened = new Opened();
  const store = await openStore(storage);
  opened.defer(() => store.close());
  const peers = await peersOf({ endpoints, name, store, storage, logger }, options);
  if (peers !== undefined) opened.use(peers);
  const started = opened.use(
    await serveAgent(peers?.wrap(agent) ?? agent, {
      ...serving,
      ...(serving.inspect !== undefined &&
        peers !== undefined && { inspect: { ...serving.inspect, network: peers.inspected } }),
      ...present({ token: options.authToken, auth }),
      ...configuredServer(endpoints, logger),
      ...present({ url: options.url }),
      directory,
      configuration: [...files, endpoints.file ?? join(directory, 'endpoints.yml')],
      ...retentionOf(endpoints.store),
      ...telemetryOf(endpoints.telemetry, name),
      store,
    }),
  );
  await peers?.start(started.engine);
  const closing = opened.move();
  return {
    ...started,
    store: storage,
    [Symbol.asyncDispose]: () => closing[Symbol.asyncDispose](),
  };
}

function needsPeers({ peers }: Endpoints, { inspect = false }: RunCommandOptions): boolean {
  return peers !== undefined || inspect;
}

/** Loaded on demand: most agents have no peers. */
async function peersOf(
  given: PeersOptions,
  options: RunCommandOptions,
): Promise<CommandPeers | undefined> {
  if (!needsPeers(given.endpoints, options)) return undefined;
  return (await import('./peers.ts')).openCommandPeers(given);
}

async function startAssistant(directory: string, options: RunCommandOptions): Promise<Started> {
  const { authToken: token, jwtSecret: secret, jwtMethod: algorithm } = options;
  const model = modelFile(options.model, directory, options);
  using _progress = new Progress('Loading the assistant');
  // Loaded on demand: agents of modules do not need it.
  const { serveAssistant } = await import('../assistant/index.ts');
  const serving = serveOptions(options);
  const endpoints = await readEndpoints(directory, {
    ...present({ endpoints: options.endpoints }),
    ignoresBus: true,
  });
  const pathsOf = model === undefined ? existingProjectPaths : projectPaths;
  const places = pathsOf(directory, options);
  const served = await serveAssistant({
    ...serving,
    places,
    ...present({ model, url: options.url }),
    enableApi: options.enableApi === true,
    api: {
      ...present({ token }),
      ...(secret !== undefined && {
        jwt: { secret, algorithm, requireExpiry: options.jwtWithoutExpiry !== true },
      }),
    },
    build: { bindings: callBindings },
    ...(needsPeers(endpoints, options) && {
      openPeers: async ({ name, store }) => {
        const { openCommandPeers } = await import('./peers.ts');
        const storage = storeOptionsOf(endpoints.store, directory);
        return openCommandPeers({ endpoints, name, store, storage, logger: serving.logger });
      },
    }),
    version: packageVersion(),
  });
  const { url, inspectorUrl, storage } = served;
  const { project } = served.models.require();
  const flows = [...project.flows.values()].filter((flow) => !flow.isPattern);
  const example = flows.find((flow) => flow.examples.length > 0)?.examples[0] ?? 'hello';
  const hasCard = project.endpoints.a2aServer !== undefined;
  const requests = exampleRequests(url, {
    text: example,
    hasCard,
    hasChannel: true,
    access: {
      auth: endpoints.server?.auth,
      hasClientCertificates: options.sslCaFile !== undefined,
      ca: privateAuthority(options.sslCertificate),
    },
  });
  return {
    what: `the assistant "${project.name}"`,
    url,
    inspectorUrl,
    hasCard,
    store: storage,
    configuration:
      model === undefined
        ? projectFiles(project, places)
        : [
            model,
            places.endpoints ?? join(directory, 'endpoints.yml'),
            places.credentials ?? join(directory, 'credentials.yml'),
          ],
    requests,
    [Symbol.asyncDispose]: () => served.close(),
  };
}
