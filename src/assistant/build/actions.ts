import { existsSync } from 'node:fs';
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
  const path = modulePath(project.directory, actionEndpoint?.actionsModule);
  if (path !== undefined) runners.push(new InProcessActions(await loadActions(path)));
  if (actionEndpoint?.url !== undefined) runners.push(remote(actionEndpoint, actionEndpoint.url));
  return runners.length === 0 ? undefined : firstOf(...runners);
}

function modulePath(directory: string, named: string | undefined): string | undefined {
  if (named === undefined) {
    return usualPlaces.map((place) => join(directory, place)).find((place) => existsSync(place));
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
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `action_endpoint.actions_module: there is no module ${named} in the project; write a path such as ./actions/index.ts`,
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
