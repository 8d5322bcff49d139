import type { Caller, Tool, ToolContext } from '../../agents/index.ts';
import { verifyCard, type TrustedKeys } from '../../auth/index.ts';
import { grpcBinding } from '../../grpc/index.ts';
import { ownerKey, type Replica, type Store } from '../../store/index.ts';
import { type Scheduler, storeScheduler } from '../../tasks/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import {
  Directory,
  type DirectoryOptions,
  directoryTools,
  type DirectoryToolsOptions,
} from '../directory/index.ts';
import {
  type Conversations,
  HttpTransport,
  Invoker,
  type InvokerOptions,
  invokeTool,
  type PeerTransport,
  PlainTransport,
} from '../invoke/index.ts';
import { memoryTools, WorkingMemory } from '../memory/index.ts';
import { Proposals, taskOver, TrustLedger } from '../trust/index.ts';

/** What a link is given to join a network. */
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
 * A way to reach peers besides HTTP and gRPC, and to hear of them: `busLink` for RabbitMQ.
 * @example
 * const link: PeerLink = {
 *   async join({ directory }) {
 *     return { transport: new PlainTransport({ directory }), discover: async () => undefined };
 *   },
 * };
 */
export interface PeerLink {
  join(context: LinkContext): Promise<JoinedLink>;
}

interface JoinedLink {
  readonly transport: PeerTransport;
  /** Lets the directory hear of agents that announce themselves, until it is disposed of. */
  discover(): Promise<AsyncDisposable | undefined>;
}

/**
 * Who we are among peers, whom we know, and how we call them.
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
  /** Further ways to reach peers, preferred in this order. @default none: HTTP and gRPC only */
  readonly links?: readonly PeerLink[];
  /**
   * Ends with what it calls, as a command does: its answers are not kept for a process after it.
   * @default false
   */
  readonly isShortLived?: boolean;
  /** Keys by which announced cards are proved. */
  readonly cardKeys?: readonly TrustedKeys[];
  readonly conversations?: Conversations;
  readonly toolServers?: DirectoryToolsOptions['toolServers'];
  /** Under whose lease peers are called, if another part of the process has one. @default a new one */
  readonly replica?: Replica;
  readonly scheduler?: Scheduler;
  readonly logger?: Logger;
}

/**
 * All that an agent needs to deal with others.
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
  /** Tools for a model: finding agents, giving them tasks, working memory. */
  readonly tools: (options?: {
    readonly mode?: 'dispatch' | 'wait';
    readonly mayRegister?: boolean;
  }) => readonly Tool[];
  close(): Promise<void>;
}

/**
 * Joins an agent to others: directory, trust, working memory, and the calling of peers over HTTP, gRPC
 * and links such as the bus.
 * @example
 * await using network = await joinPeers({ name: 'me', store, links: [busLink({ bus })] });
 * const assistant = llmAgent({ name: 'desk', model, tools: network.tools({ mode: 'wait' }) });
 */
export async function joinPeers(options: PeerNetworkOptions): Promise<PeerNetwork> {
  const {
    name,
    store,
    links = [],
    cardKeys,
    isShortLived = false,
    wellKnown,
    requireSignedCards,
    strangerPolicy,
    operatorPolicy,
    toolServers,
    scheduler = storeScheduler(store),
    logger = defaultLogger,
    replica,
    ...invoking
  } = options;
  const { records } = store;
  const directory = new Directory({
    records,
    self: name,
    scheduler,
    logger,
    ...(wellKnown !== undefined && { wellKnown }),
    ...(requireSignedCards !== undefined && { requireSignedCards }),
    ...(strangerPolicy !== undefined && { strangerPolicy }),
    ...(operatorPolicy !== undefined && { operatorPolicy }),
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
    new HttpTransport({ directory, logger }),
    new HttpTransport({ directory, logger, grpc: (policy) => grpcBinding({ policy }) }),
    new PlainTransport({ directory }),
  ];
  const invoker = new Invoker({
    ...invoking,
    name,
    directory,
    transports,
    store,
    ...(replica !== undefined && { replica }),
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
      ...directoryTools({
        directory,
        mayRegister,
        ...(toolServers !== undefined && { toolServers }),
      }),
      ...memoryTools({ memory: ({ turn }: ToolContext) => memory(turn.caller) }),
    ],
    close,
    [Symbol.asyncDispose]: close,
  };
}
