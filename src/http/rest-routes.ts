import type { Operation, ProtocolVersion } from '../protocol/index.ts';
import { pathParams, pathPattern } from './path-pattern.ts';

/** A request matched to an operation, with what its path says. */
export interface RestRoute {
  readonly operation: Operation;
  /** Parameters from the path, in the words of the 1.x requests. */
  readonly params: Readonly<Record<string, string>>;
  readonly tenant?: string;
}

export type RestMatch =
  | RestRoute
  /** The path exists, for these methods. */
  | { readonly allow: string }
  | undefined;

/** The operations of one resource, by HTTP method. */
interface Resource {
  readonly methods: Readonly<Record<string, Operation>>;
  readonly version?: ProtocolVersion;
  readonly direct: RegExp;
  /** Every path may begin with a tenant. */
  readonly tenanted: RegExp;
}

function resource(
  path: string,
  methods: Readonly<Record<string, Operation>>,
  version?: ProtocolVersion,
): Resource {
  return {
    methods,
    ...(version !== undefined && { version }),
    direct: pathPattern(path),
    tenanted: pathPattern(`/{tenant}${path}`),
  };
}

const configs = '/tasks/{taskId}/pushNotificationConfigs';

/** The first that has a path is the one: ids may contain colons, and verbs follow the last of them. */
const resources = [
  resource('/message:send', { POST: 'sendMessage' }),
  resource('/message:stream', { POST: 'sendStreamingMessage' }),
  resource('/tasks', { GET: 'listTasks' }),
  resource('/extendedAgentCard', { GET: 'getExtendedAgentCard' }, '1.0'),
  resource('/card', { GET: 'getExtendedAgentCard' }, '0.3'),
  resource('/tasks/{id}:cancel', { POST: 'cancelTask' }),
  // The prose says POST, the proto GET.
  resource('/tasks/{id}:subscribe', { POST: 'subscribeToTask', GET: 'subscribeToTask' }),
  resource('/tasks/{id}', { GET: 'getTask' }),
  resource(configs, {
    POST: 'createTaskPushNotificationConfig',
    GET: 'listTaskPushNotificationConfigs',
  }),
  resource(`${configs}/{id}`, {
    GET: 'getTaskPushNotificationConfig',
    DELETE: 'deleteTaskPushNotificationConfig',
  }),
];

/** Finds the operation of a path below a version's prefix. */
export function matchRest(method: string, path: string, version: ProtocolVersion): RestMatch {
  for (const place of ['direct', 'tenanted'] as const) {
    const found = resources.find(
      (one) => (one.version ?? version) === version && one[place].test(path),
    );
    if (found === undefined) continue;
    const operation = found.methods[method];
    if (operation === undefined) return { allow: Object.keys(found.methods).join(', ') };
    const { tenant, ...params } = pathParams(found[place], path);
    return { operation, params, ...(tenant !== undefined && { tenant }) };
  }
  return undefined;
}
