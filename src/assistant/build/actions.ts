import { findModule } from '../project/project-folder.ts';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Place, Problems } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { InProcessActions } from '../actions/in-process.ts';
import { RemoteActions } from '../actions/remote.ts';
import { type Action, type ActionRunner, firstOf } from '../actions/runner.ts';
import type { ActionEndpoint } from '../project/endpoints.ts';
import type { LoadedProject, Project } from '../project/load-project.ts';

/** The default paths of a module with actions in TypeScript. */
const usualPlaces = ['actions/index.ts', 'actions.ts', 'actions/index.js', 'actions.js'];

/** Creates the runner of a project's actions: a module in this process first, then an action server. */
export async function actionsOf(project: Project): Promise<ActionRunner | undefined> {
  const { actionEndpoint } = project.endpoints;
  const runners: ActionRunner[] = [];
  const problems = new Problems();
  const path = modulePath(project, problems);
  problems.throwIfErrors();
  if (path !== undefined) runners.push(new InProcessActions(await loadActions(path)));
  if (actionEndpoint?.url !== undefined) runners.push(remote(actionEndpoint, actionEndpoint.url));
  return runners.length === 0 ? undefined : firstOf(...runners);
}

/**
 * Adds an error to `problems` where the actions of a project can't run in this process and no
 * action server is configured. `buildAssistant` throws the same error.
 * @example
 * const loaded = await loadProject({ directory: '.' }, process.env);
 * checkActions(loaded);
 * loaded.problems.throwIfErrors();
 */
export function checkActions({
  project,
  problems,
}: Pick<LoadedProject, 'project' | 'problems'>): void {
  modulePath(project, problems);
}

/** The module to import; undefined where there is none, with the reason in `problems` if one is needed. */
function modulePath(
  { directory, domain, endpoints: { actionEndpoint } }: Project,
  problems: Problems,
): string | undefined {
  const { actionsModule: named, url } = actionEndpoint ?? {};
  if (actionEndpoint === undefined || named === undefined) {
    const usual = usualPlaces.map((place) => join(directory, place)).find(existsSync);
    // An endpoint with neither key is an error of endpoints.yml already.
    const isConfigured = usual !== undefined || actionEndpoint !== undefined;
    if (isConfigured || domain.actions.size === 0) return usual;
    const file = pythonFile(join(directory, 'actions'));
    if (file === undefined) return undefined;
    const place: Place = { position: { file, line: 1, column: 1 }, path: '' };
    problems.error(place, inPython('actions'), {
      hint: `${serverRemedy('actions')} to endpoints.yml`,
    });
    return undefined;
  }
  const found = findModule(named, [directory]);
  if (found !== undefined) return found;
  const python = (/[/\\]/.test(named) ? named : named.replaceAll('.', '/')).replace(/[./]py$/, '');
  if (pythonFile(resolve(directory, python)) === undefined) {
    problems.error(
      actionEndpoint.place,
      `actions_module: there is no module ${named} in the project`,
      {
        hint: 'write a path such as ./actions/index.ts',
      },
    );
  } else if (url === undefined) {
    const module = python.replace(/^\.\//, '').replaceAll('/', '.');
    problems.error(actionEndpoint.place, inPython(named), {
      hint: `${serverRemedy(module)} to endpoints.yml in place of actions_module`,
    });
  }
  return undefined;
}

/** A file of the Python module or package at a path without its extension; undefined for neither. */
function pythonFile(path: string): string | undefined {
  if (existsSync(`${path}.py`)) return `${path}.py`;
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return undefined;
  const file = readdirSync(path)
    .sort()
    .find((name) => name.endsWith('.py'));
  return file && join(path, file);
}

function inPython(named: string): string {
  return `the actions in "${named}" are written in Python and need an action server`;
}

function serverRemedy(module: string): string {
  return (
    `start it with "python -m rasa_sdk --actions ${module}" in the project folder, ` +
    `and add "action_endpoint: {url: http://localhost:5055/webhook}"`
  );
}

async function loadActions(path: string): Promise<readonly Action[]> {
  const module: object = await import(pathToFileURL(path).href);
  const actions = Object.values(module).flat().filter(isAction);
  if (actions.length > 0) return actions;
  throw new LegateError(
    'CONFIGURATION_INVALID',
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

function remote(endpoint: ActionEndpoint, address: string): RemoteActions {
  const url = new URL(address);
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
  });
}
