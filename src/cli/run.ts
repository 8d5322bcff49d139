import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { present } from '../config/index.ts';
import { telemetryOf } from '../http/index.ts';
import { retentionOf } from '../tasks/index.ts';
import type { RunCommandOptions } from './commands/assistants.ts';
import { packageVersion } from './commands/version.ts';
import { configuredStore, readEndpoints } from './endpoints.ts';
import { loadAgent } from './load-agent.ts';
import { createLogger } from './logger.ts';
import { callBindings, existingProjectPaths, modelFile, projectPaths } from './project-files.ts';
import { Progress } from './progress.ts';
import {
  checkListenFlags,
  greetUntilSignal,
  inspectorOptions,
  listenOptions,
  serveAgent,
  type Started,
} from './serving.ts';
import { usage } from './usage.ts';

/** Serves an assistant, or the agent of a module, until the process is stopped. */
export async function run(
  target: string,
  /** `open` opens the inspector in a browser, as `inspect` does. */
  options: RunCommandOptions & { readonly open?: boolean },
): Promise<void> {
  const found = statSync(target, { throwIfNoEntry: false });
  if (found === undefined) {
    throw usage(
      `no such file or folder: ${target}; name the folder of an assistant, or a module that exports an agent`,
    );
  }
  await using started = found.isFile()
    ? await startModule(target, options)
    : await startAssistant(target, options);
  await greetUntilSignal(started, options);
  console.error('Stopping: waiting for running turns.');
}

function serveOptions(options: RunCommandOptions) {
  return {
    ...listenOptions(options),
    ...present({ noticeMs: options.notice, drainMs: options.drain }),
    ...(options.showErrors === true && { showErrors: true }),
    ...(options.inspect === true && { inspect: inspectorOptions(options) }),
    logger: createLogger(options.logLevel),
  };
}

/** Stores tasks beside the module, unless endpoints.yml configures a store. */
async function startModule(module: string, options: RunCommandOptions): Promise<Started> {
  checkListenFlags(options, options.authToken !== undefined);
  const serving = serveOptions(options);
  const { agent, directory } = await loadAgent(module, serving);
  const { endpoints: file } = options;
  const endpoints = await readEndpoints(directory, {
    ...present({ endpoints: file }),
    ignoresBus: true,
  });
  return serveAgent(agent, {
    ...serving,
    ...present({ token: options.authToken }),
    ...retentionOf(endpoints.store),
    ...telemetryOf(endpoints.telemetry, agent.name),
    store: configuredStore(endpoints, undefined, join('.legate', `${basename(agent.name)}.db`)),
  });
}

async function startAssistant(directory: string, options: RunCommandOptions): Promise<Started> {
  const { authToken: token, jwtSecret: secret, jwtMethod: algorithm } = options;
  const model = modelFile(options.model);
  using progress = new Progress('Loading the assistant');
  // Loaded on demand: agents of modules do not need it.
  const { serveAssistant } = await import('../assistant/index.ts');
  const serving = await serveAssistant({
    ...serveOptions(options),
    places: (model === undefined ? existingProjectPaths : projectPaths)(directory, options),
    ...present({ model }),
    enableApi: options.enableApi === true,
    api: {
      ...present({ token }),
      ...(secret !== undefined && {
        jwt: { secret, algorithm, requireExpiry: options.jwtWithoutExpiry !== true },
      }),
    },
    build: { bindings: callBindings },
    version: packageVersion(),
  });
  progress.clear();
  const { url, inspectorUrl, storage } = serving;
  const { project } = serving.models.require();
  const flows = [...project.flows.values()].filter((flow) => !flow.isPattern);
  const example = flows.find((flow) => flow.examples.length > 0)?.examples[0] ?? 'hello';
  const body = JSON.stringify({ sender: 'me', message: example }).replaceAll("'", String.raw`'\''`);
  return {
    what: `the assistant "${project.name}"`,
    url,
    inspectorUrl,
    hasCard: project.endpoints.a2aServer !== undefined,
    store: storage,
    command: `curl ${url}/webhooks/rest/webhook -H 'Content-Type: application/json' -d '${body}'`,
    [Symbol.asyncDispose]: () => serving.close(),
  };
}
