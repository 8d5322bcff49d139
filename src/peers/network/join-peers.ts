import type { Caller, Tool } from '../../agents/index.ts';
import { verifyCard, type TrustedKeys } from '../../auth/index.ts';
import { present } from '../../config/index.ts';
import { grpcBinding } from '../../grpc/index.ts';
import { ownerKey, type Replica, type Store } from '../../store/index.ts';
import { type Scheduler, storeScheduler } from '../../tasks/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import { Directory, type DirectoryOptions } from '../directory/directory.ts';
import { directoryTools, type DirectoryToolsOptions } from '../directory/directory-tools.ts';
import type { Conversations } from '../invoke/conversations.ts';
import { httpTransport, type HttpTransportOptions } from '../invoke/http-transport.ts';
import { Invoker, type InvokerOptions } from '../invoke/invoker.ts';
import { invokeTool } from '../invoke/invoke-tool.ts';
import type { PeerTransport } from '../invoke/invocation.ts';
import { plainTransport } from '../invoke/plain-transport.ts';
import { memoryTools } from '../memory/memory-tools.ts';
import { WorkingMemory } from '../memory/working-memory.ts';
import { Proposals, taskOver } from '../trust/proposals.ts';
import { TrustLedger } from '../trust/trust-ledger.ts';

/** What a link gets to join a network. */
interface LinkContext {
  /** Our own name to peers. */
  readonly name: string;
  readonly store: Store;
  readonly directory: Directory;
  readonly isShortLived: boolean;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
}

/**
 * A transport to peers besides HTTP and gRPC, with discovery: `busLink` for RabbitMQ.
 * @example const links: readonly PeerLink[] = [busLink({ bus })];
 */
export interface PeerLink {
  join(context: LinkContext): Promise<JoinedLink>;
}

interface JoinedLink {
  readonly transport: PeerTransport;
  /** Adds agents that announce themselves to the directory, until it is disposed of. */
  discover(): Promise<AsyncDisposable | undefined>;
}

/**
 * Our name among peers, the peers we know, and how we call them.
 * @example
 * const options: PeerNetworkOptions = {
 *   name: 'desk',
 *   store: await openStore({ type: 'sqlite', path: 'desk.db' }),
 *   wellKnown: [{ name: 'bob', url: 'https://bob.example' }],
 *   timeoutMs: 60_000,
 * };
 */
export interface PeerNetworkOptions
  extends
    Pick<
      DirectoryOptions,
      'wellKnown' | 'requireSignedCards' | 'strangerPolicy' | 'operatorPolicy'
    >,
    Pick<
      InvokerOptions,
      | 'timeoutMs'
      | 'askTimeoutMs'
      | 'maxInFlight'
      | 'maxInputRequiredRounds'
      | 'repetitionThreshold'
    > {
  /** Our own name to peers, also on the bus. */
  readonly name: string;
  readonly store: Store;
  /** Further transports, preferred in this order. @default none: HTTP and gRPC only */
  readonly links?: readonly PeerLink[];
  /** The process ends with its calls, as a command does: no later process gets their answers. @default false */
  readonly isShortLived?: boolean;
  /** The keys that verify announced cards. */
  readonly cardKeys?: readonly TrustedKeys[];
  /** How peers are called over HTTP and gRPC: polling, retries, timeouts. @default the client's */
  readonly client?: HttpTransportOptions['client'];
  readonly conversations?: Conversations;
  readonly toolServers?: DirectoryToolsOptions['toolServers'];
  /** The lease of this process, if another part of it has one. @default a new one */
  readonly replica?: Replica;
  readonly scheduler?: Scheduler;
  readonly logger?: Logger;
}

/**
 * Directory, trust, memory and calls of an agent among others.
 * @example
 * async function translate({ trust, invoker }: PeerNetwork, session: InvocationSession) {
 *   await trust.grant(peerSubject('bob'), { level: 'act', skills: ['latin'], by: 'ada' });
 *   return invoker.call({ agent: 'bob', skill: 'latin', message: 'Good morning' }, session);
 * }
 */
export interface PeerNetwork extends AsyncDisposable {
  readonly directory: Directory;
  readonly invoker: Invoker;
  readonly trust: TrustLedger;
  readonly proposals: Proposals;
  /** The working memory of a caller's conversations. */
  readonly memory: (caller: Caller) => WorkingMemory;
  /** Tools for a model: find agents, give them tasks, and use working memory. */
  readonly tools: (options?: {
    readonly mode?: 'dispatch' | 'wait';
    readonly mayRegister?: boolean;
  }) => readonly Tool[];
  close(): Promise<void>;
}

/**
 * Joins an agent to others: directory, trust, working memory, and calls to peers over HTTP, gRPC and
 * links such as the bus.
 * @example
 * await using network = await joinPeers({ name: 'me', store, links: [busLink({ bus })] });
 * const assistant = llmAgent({ name: 'desk', model, tools: network.tools({ mode: 'wait' }) });
 */
export async function joinPeers(options: PeerNetworkOptions): Promise<PeerNetwork> {
  const { name, store, links = [], cardKeys, isShortLived = false, client, toolServers } = options;
  const { wellKnown, requireSignedCards, strangerPolicy, operatorPolicy } = options;
  const { scheduler = storeScheduler(store), logger = defaultLogger } = options;
  const { records } = store;
  const directory = new Directory({
    records,
    self: name,
    scheduler,
    logger,
    ...present({ wellKnown, requireSignedCards, strangerPolicy, operatorPolicy }),
    ...(cardKeys !== undefined && {
      verifyCard: async (card: unknown) =>
        (await verifyCard(card, { trusted: cardKeys, now: scheduler.now() })).card,
    }),
  });
  const trust = new TrustLedger({ records, scheduler, logger });
  const proposals = new Proposals({ records, scheduler, isOver: taskOver(store) });
  const memory = ({ tenant, subject }: Caller): WorkingMemory =>
    new WorkingMemory({
      records,
      owner: ownerKey({ agent: name, tenant, subject }),
      clock: scheduler,
    });
  const context: LinkContext = { name, store, directory, isShortLived, scheduler, logger };
  const joined = await Promise.all(links.map((link) => link.join(context)));
  const transports = [
    ...joined.map(({ transport }) => transport),
    httpTransport({ directory, logger, client }),
    httpTransport({ directory, logger, client, grpc: (policy) => grpcBinding({ policy }) }),
    plainTransport(directory),
  ];
  const invoker = new Invoker({
    ...options,
    directory,
    transports,
    memory,
    trust,
    scheduler,
    logger,
  });
  await directory.start();
  const discoveries = await Promise.all(joined.map((link) => link.discover()));
  await invoker.start();
  const close = async (): Promise<void> => {
    await invoker.stop();
    for (const discovery of discoveries) await discovery?.[Symbol.asyncDispose]();
    directory.stop();
  };
  return {
    directory,
    invoker,
    trust,
    proposals,
    memory,
    tools: ({ mode = 'dispatch', mayRegister = false } = {}) => [
      invokeTool({ invoker, mode }),
      ...directoryTools({ directory, mayRegister, ...present({ toolServers }) }),
      ...memoryTools(({ turn }) => memory(turn.caller)),
    ],
    close,
    [Symbol.asyncDispose]: close,
  };
}
