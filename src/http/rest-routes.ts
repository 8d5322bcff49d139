import { invalidParams, type Operation } from '../protocol/index.ts';

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
type Methods = Readonly<Record<string, Operation>>;

/**
 * Finds the operation of a path below a version's prefix. Every path may begin with a tenant. Verbs
 * follow the last colon, so ids may contain colons themselves.
 */
export function matchRest(method: string, path: string, version: '0.3' | '1.0'): RestMatch {
  const segments = path.split('/').slice(1);
  const direct = resource(segments, version);
  const found = direct ?? resource(segments.slice(1), version);
  if (found === undefined) return undefined;
  const operation = found.methods[method];
  if (operation === undefined) return { allow: Object.keys(found.methods).join(', ') };
  const tenant = direct === undefined ? decode(segments[0] ?? '', 'tenant') : undefined;
  return { operation, params: found.params, ...(tenant !== undefined && { tenant }) };
}

function resource(
  segments: readonly string[],
  version: '0.3' | '1.0',
): { methods: Methods; params: Record<string, string> } | undefined {
  const [head, item, collection, member] = segments;
  if (segments.length === 1) {
    if (head === 'message:send') return { methods: { POST: 'sendMessage' }, params: {} };
    if (head === 'message:stream') return { methods: { POST: 'sendStreamingMessage' }, params: {} };
    if (head === 'tasks') return { methods: { GET: 'listTasks' }, params: {} };
    const card = version === '1.0' ? 'extendedAgentCard' : 'card';
    if (head === card) return { methods: { GET: 'getExtendedAgentCard' }, params: {} };
    return undefined;
  }
  if (head !== 'tasks' || item === undefined || item === '') return undefined;
  if (segments.length === 2) return taskResource(item);
  if (collection !== 'pushNotificationConfigs') return undefined;
  const taskId = decode(item, 'taskId');
  if (segments.length === 3) {
    return {
      methods: { POST: 'createTaskPushNotificationConfig', GET: 'listTaskPushNotificationConfigs' },
      params: { taskId },
    };
  }
  if (segments.length !== 4 || member === undefined || member === '') return undefined;
  return {
    methods: { GET: 'getTaskPushNotificationConfig', DELETE: 'deleteTaskPushNotificationConfig' },
    params: { taskId, id: decode(member, 'id') },
  };
}

function taskResource(item: string): { methods: Methods; params: Record<string, string> } {
  const colon = item.lastIndexOf(':');
  const verb = colon < 0 ? '' : item.slice(colon + 1);
  if (verb === 'cancel') {
    return { methods: { POST: 'cancelTask' }, params: { id: decode(item.slice(0, colon), 'id') } };
  }
  if (verb === 'subscribe') {
    // The prose says POST, the proto GET.
    return {
      methods: { POST: 'subscribeToTask', GET: 'subscribeToTask' },
      params: { id: decode(item.slice(0, colon), 'id') },
    };
  }
  return { methods: { GET: 'getTask' }, params: { id: decode(item, 'id') } };
}

function decode(segment: string, field: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalidParams({ field, description: 'is not valid percent-encoding' });
  }
}
