import type { Agent } from '../agents/index.ts';
import { isLoopbackHost } from '../auth/index.ts';
import type { Hosting } from '../bus/index.ts';
import { present } from '../config/index.ts';
import { inspectorChannel, openChannels } from '../http/index.ts';
import type { Store } from '../store/index.ts';
import type { CommandPeers } from './peers.ts';
import { inspectorOptions } from './serving.ts';
import type { WorkerPort } from './worker-port.ts';

interface InspectedWorker {
  readonly hosting: Hosting;
  readonly store: Store;
  readonly peers: CommandPeers;
  readonly port: WorkerPort;
}

/** Serves the inspector of a worker on its port, on the engine that takes the tasks of the bus. */
export async function openWorkerInspector(
  agent: Agent,
  { hosting, store, peers, port }: InspectedWorker,
  token: string | undefined,
): Promise<AsyncDisposable & { readonly link: string }> {
  const channel = inspectorChannel({
    ...inspectorOptions(present({ inspectToken: token })),
    network: peers.inspected,
  });
  const channels = await openChannels(agent, {
    service: hosting.service,
    store,
    channels: [channel],
    isReady: hosting.ready,
    url: port.url,
    isLocalOnly: isLoopbackHost(port.host),
  });
  port.inspect(channels.handler);
  return {
    link: channel.link(port.url),
    [Symbol.asyncDispose]: () => channels[Symbol.asyncDispose](),
  };
}
