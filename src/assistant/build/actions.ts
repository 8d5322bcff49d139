import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LegateError } from '../../protocol/index.ts';
import {
  type Action,
  type ActionRunner,
  firstOf,
  InProcessActions,
  RemoteActions,
} from '../actions/index.ts';
import type { ActionEndpoint, Project } from '../project/index.ts';

/** Where actions written in TypeScript are looked for when nothing names them. */
const usualPlaces = ['actions/index.ts', 'actions.ts', 'actions/index.js', 'actions.js'];

/** What runs a project's actions: a module in this process first, then an action server. */
export async function actionsOf(project: Project): Promise<ActionRunner | undefined> {
  const { actionEndpoint } = project.endpoints;
  const runners: ActionRunner[] = [];
  const path = modulePath(project);
  if (path !== undefined) runners.push(new InProcessActions(await loadActions(path)));
  if (actionEndpoint?.url !== undefined) runners.push(remote(actionEndpoint, actionEndpoint.url));
  return runners.length === 0 ? undefined : firstOf(...runners);
}

function modulePath({ directory, domain, endpoints }: Project): string | undefined {
  const { actionsModule: named, url } = endpoints.actionEndpoint ?? {};
  if (named === undefined) {
    const usual = usualPlaces.map((place) => join(directory, place)).find(existsSync);
    if (usual !== undefined || url !== undefined || domain.actions.size === 0) return usual;
    if (isPython(join(directory, 'actions'))) throw inPython('actions', 'actions');
    return undefined;
  }
  // The format names modules with dots: `my.actions`.
  const asPath = /[/\\]|\.[tj]s$/.test(named) ? named : named.replaceAll('.', '/');
  const places = [
    asPath,
    `${asPath}.ts`,
    `${asPath}/index.ts`,
    `${asPath}.js`,
    `${asPath}/index.js`,
  ];
  const found = places
    .map((place) => resolve(directory, place))
    .find((place) => /\.[tj]s$/.test(place) && existsSync(place));
  if (found !== undefined) return found;
  const python = asPath.replace(/\.py$/, '');
  if (isPython(resolve(directory, python))) {
    if (url !== undefined) return undefined;
    throw inPython(named, python.replace(/^\.\//, '').replaceAll('/', '.'));
  }
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `action_endpoint.actions_module: there is no module ${named} in the project; write a path such as ./actions/index.ts`,
  );
}

/** Whether a path, without its ending, is a module or a package of Python. */
function isPython(path: string): boolean {
  if (existsSync(`${path}.py`)) return true;
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  return readdirSync(path).some((name) => name.endsWith('.py'));
}

function inPython(named: string, module: string): LegateError {
  return new LegateError(
    'CONFIGURATION_INVALID',
    `the actions in "${named}" are written in Python, which runs in a server of its own; ` +
      `start it with "python -m rasa_sdk --actions ${module}" in the project folder, ` +
      `and write "action_endpoint: {url: http://localhost:5055/webhook}" in endpoints.yml ` +
      `in place of actions_module`,
  );
}

async function loadActions(path: string): Promise<readonly Action[]> {
  const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
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
    typeof (value as Action).name === 'string' &&
    typeof (value as Action).run === 'function'
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
