import { findModule } from '../project/project-folder.ts';
import { existsSync, globSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type Environment,
  importModule,
  type Place,
  present,
  Problems,
} from '../../config/index.ts';
import { clientTls } from '../../net/index.ts';
import { invalidConfiguration, LegateError } from '../../protocol/index.ts';
import { tlsFetch } from '../../push/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { ActionServer, isReachable } from '../actions/action-server.ts';
import { InProcessActions } from '../actions/in-process.ts';
import { findPython } from '../actions/python.ts';
import { ActionServerUnreachable, RemoteActions } from '../actions/remote.ts';
import { type Action, type ActionRunner, firstOf } from '../actions/runner.ts';
import type { ActionEndpoint } from '../project/endpoints.ts';
import type { LoadedProject, Project } from '../project/load-project.ts';

/** The default paths of a module with actions in TypeScript. */
const usualPlaces = ['actions/index.ts', 'actions.ts', 'actions/index.js', 'actions.js'];

/** Dependencies of actions besides their project. */
export interface ActionsOptions {
  /** The environment of the Python action server. */
  readonly environment: Environment;
  readonly logger: Logger;
}

/**
 * Creates the runner of a project's actions: first a module in this process, then the action server of
 * `action_endpoint.url`, or without a URL a Python action server, which this process starts. It also starts
 * one if no server answers at that URL, except in production. The caller must close the runner.
 */
export async function actionsOf(
  project: Project,
  options: ActionsOptions,
): Promise<ActionRunner | undefined> {
  const { actionEndpoint } = project.endpoints;
  const problems = new Problems();
  const { module, python } = findActions(project, problems);
  problems.throwIfErrors();
  const runners: ActionRunner[] = [];
  if (module !== undefined) runners.push(new InProcessActions(await loadActions(module)));
  const expected = customActions(project).filter((name) => !firstOf(...runners).has(name));
  if (actionEndpoint?.url !== undefined) {
    const { url } = actionEndpoint;
    const standIn =
      expected.length > 0 && (await needsStandIn(project, options))
        ? await startStandIn(project, expected, options)
        : undefined;
    const fetch = actionFetch(project, options.logger);
    // With a stand-in, retrying the connection only delays the fallback.
    const server = remote(actionEndpoint, url, { fetch, connectAttempts: standIn && 1 });
    runners.push(standIn === undefined ? server : withStandIn(server, standIn));
  } else if (python !== undefined && expected.length > 0) {
    runners.push(await startPython(project, expected, options));
  }
  return runners.length === 0 ? undefined : firstOf(...runners);
}

/**
 * Whether to start the project's Python actions although `action_endpoint` has a URL: no server answers
 * there, and the process is not in production.
 */
export async function needsStandIn(
  project: Project,
  { environment, logger }: ActionsOptions,
): Promise<boolean> {
  const url = project.endpoints.actionEndpoint?.url;
  if (url === undefined || environment['NODE_ENV'] === 'production') return false;
  if (findActions(project, new Problems()).python === undefined) return false;
  return !(await isReachable(new URL(url).origin, actionFetch(project, logger)));
}

/** Starts a stand-in. Undefined with a warning if this machine can't start it: the server may start later. */
async function startStandIn(
  project: Project,
  expected: readonly string[],
  options: ActionsOptions,
): Promise<ActionServer | undefined> {
  const url = project.endpoints.actionEndpoint?.url;
  const { logger } = options;
  try {
    const server = await startPython(project, expected, options);
    const hint = 'actions of the project run here until that server answers';
    logger.warn({ url, server: server.module, hint }, 'action.server.replaced');
    return server;
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    logger.warn({ url, hint: error.message }, 'action.server.unreachable');
    return undefined;
  }
}

/** Calls the server if it is reachable, otherwise the stand-in. */
function withStandIn(server: RemoteActions, standIn: ActionServer): ActionRunner {
  return {
    has: () => true,
    run: (call) =>
      server.run(call).catch((error: unknown) => {
        if (error instanceof ActionServerUnreachable) return standIn.run(call);
        throw error;
      }),
    close: () => standIn.close(),
  };
}

/** Starts the Python action server of a project that has Python actions. */
export async function startPython(
  project: Project,
  expected: readonly string[],
  { environment, logger }: ActionsOptions,
): Promise<ActionServer> {
  const { directory, endpoints } = project;
  const module = findActions(project, new Problems()).python ?? 'actions';
  const server = new ActionServer({
    python: await findPython({ directory, environment, canInstall: true }),
    module,
    directory,
    environment,
    expected,
    logger,
    connect: (url) => remote(endpoints.actionEndpoint, url),
  });
  await server.start();
  return server;
}

/** The custom actions that the domain declares. */
export function customActions({ domain }: Project): readonly string[] {
  return [...domain.actions.keys()].filter(
    (name) => !domain.responses.has(name) && !name.startsWith('utter_'),
  );
}

/**
 * Adds an error to `problems` if a module of actions does not exist, and a warning if this machine can't
 * start the Python action server. `buildAssistant` throws in both cases. Installs nothing.
 * @example
 * const loaded = await loadProject({ directory: '.' }, process.env);
 * await checkActions(loaded, process.env);
 * loaded.problems.throwIfErrors();
 */
export async function checkActions(
  { project, problems }: Pick<LoadedProject, 'project' | 'problems'>,
  environment: Environment,
): Promise<void> {
  findActions(project, problems);
  if (pythonActionsOf(project) === undefined) return;
  const { directory, endpoints } = project;
  const place: Place = endpoints.actionEndpoint?.place ?? {
    position: { file: join(directory, 'actions'), line: 1, column: 1 },
    path: '',
  };
  try {
    await findPython({ directory, environment, canInstall: false });
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    problems.warn(place, error.message);
  }
}

/** The Python module for which `buildAssistant` starts an action server; undefined if it starts none. */
export function pythonActionsOf(project: Project): string | undefined {
  const { python } = findActions(project, new Problems());
  const isNeeded = project.endpoints.actionEndpoint?.url === undefined;
  return isNeeded && customActions(project).length > 0 ? python : undefined;
}

interface FoundActions {
  /** The path of a module to import. */
  readonly module: string | undefined;
  /** The name of a Python module or package, with dots. */
  readonly python: string | undefined;
}

/** Finds the actions of a project. Reports a configured module that does not exist. */
function findActions(project: Project, problems: Problems): FoundActions {
  const { directory, endpoints } = project;
  const { actionsModule: named, url, place } = endpoints.actionEndpoint ?? {};
  const usual = usualPlaces.map((one) => join(directory, one)).find(existsSync);
  const own = named === undefined ? undefined : findModule(named, [directory]);
  const module = own ?? usual;
  const isTypeScript = named === undefined || own !== undefined;
  const path = isTypeScript
    ? 'actions'
    : (/[/\\]/.test(named) ? named : named.replaceAll('.', '/')).replace(/[./]py$/, '');
  if (hasPython(resolve(directory, path))) {
    return { module, python: path.replace(/^\.\//, '').replaceAll('/', '.') };
  }
  if (!isTypeScript && module === undefined && place !== undefined && url === undefined) {
    const message = `actions_module: there is no module ${named} in the project`;
    // Without custom actions the setting has no effect; project templates contain it.
    const severity = customActions(project).length > 0 ? 'error' : 'warn';
    problems[severity](place, message, { hint: 'write a path such as ./actions/index.ts' });
  }
  return { module, python: undefined };
}

/** Whether a Python module or package exists at a path without extension. */
function hasPython(path: string): boolean {
  if (existsSync(`${path}.py`)) return true;
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  return globSync('{*,*/*,*/*/*}.py', { cwd: path }).length > 0;
}

async function loadActions(path: string): Promise<readonly Action[]> {
  const module: object = await importModule(path);
  const actions = Object.values(module).flat().filter(isAction);
  if (actions.length > 0) return actions;
  throw invalidConfiguration(
    `the module of actions exports none; export what defineAction returns`,
  );
}

function isAction(value: unknown): value is Action {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'run' in value &&
    typeof value.run === 'function'
  );
}

/** A `fetch` with the TLS files of `action_endpoint`; undefined without them. */
export function actionFetch(
  { endpoints, directory }: Project,
  logger: Logger,
): typeof fetch | undefined {
  const tls = endpoints.actionEndpoint?.tls;
  return tls && tlsFetch(clientTls(tls, { what: 'action_endpoint', directory, logger }));
}

function remote(
  endpoint: ActionEndpoint | undefined,
  address: string,
  {
    fetch,
    connectAttempts,
  }: {
    readonly fetch?: typeof globalThis.fetch | undefined;
    readonly connectAttempts?: 1 | undefined;
  } = {},
): RemoteActions {
  const url = new URL(address);
  if (endpoint === undefined) return new RemoteActions({ url: url.href, domain: 'digest' });
  if (endpoint.token !== undefined) url.searchParams.set(endpoint.tokenName, endpoint.token);
  const { basicAuth, headers } = endpoint;
  const authorization =
    basicAuth === undefined
      ? {}
      : {
          authorization: `Basic ${Buffer.from(`${basicAuth.username}:${basicAuth.password}`).toString('base64')}`,
        };
  return new RemoteActions({
    url: url.href,
    timeoutMs: endpoint.timeout * 1000,
    domain: endpoint.enableSelectiveDomain ? 'selective' : 'digest',
    headers: () => ({ ...headers, ...authorization }),
    ...present({ fetch, connectAttempts }),
  });
}
