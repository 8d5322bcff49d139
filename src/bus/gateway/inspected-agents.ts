import type { InspectorOptions, NetworkProvider, Router } from '../../http/index.ts';
import { Json, type JsonObject } from '../../protocol/index.ts';
import { topics } from '../transport/topics.ts';

const levels = [
  {
    name: 'worker',
    description:
      'Its worker decides what callers may do: see legate work --inspect, or legate trust.',
  },
];

interface Behind {
  /** The gateway's name on the bus. */
  readonly gateway: string;
  /** Keyed by agent name; the first is the inspected agent. */
  readonly routers: ReadonlyMap<string, Router>;
  /** Whether the agent has announced itself. */
  readonly isKnown: (name: string) => boolean;
}

/** The inspector of a gateway shows the agents behind it, unless `inspect` names another network. */
export function inspectedAgents(
  inspect: boolean | InspectorOptions | undefined,
  behind: Behind,
): boolean | InspectorOptions {
  if (inspect === undefined || inspect === false) return false;
  return { network: networkOf(behind), ...(inspect === true ? {} : inspect) };
}

function networkOf({ gateway, routers, isKnown }: Behind): NetworkProvider {
  return {
    levels,
    peers: async () =>
      [...routers].slice(1).map(([name, { cards }]) => ({
        // The name in the owners of its tasks, so that the calls of its callers lead to it.
        id: `${gateway}/${name}`,
        name,
        address: topics.task(name),
        transport: 'bus',
        reach: isKnown(name) ? 'reachable' : 'unknown',
        card: Json.fromText<JsonObject>(JSON.stringify(cards.current)).value,
        trust: 'worker',
      })),
  };
}
