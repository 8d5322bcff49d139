import type {
  Caller,
  EmbeddingModelSource,
  PeerRequest,
  PeerResult,
  Tool,
} from '../../agents/index.ts';
import { verifyCard, type TrustedKeys } from '../../auth/index.ts';
import { present } from '../../config/index.ts';
import { grpcBinding } from '../../grpc/index.ts';
import { checkOptions, type OptionNames } from '../../protocol/index.ts';
import { ownerKey, type Replica, type Store } from '../../store/index.ts';
import { type Scheduler, storeScheduler } from '../../tasks/index.ts';
import { defaultLogger, type Logger, loggerOption } from '../../telemetry/index.ts';
import { Directory, type DirectoryOptions } from '../directory/directory.ts';
import { directoryTools, type DirectoryToolsOptions } from '../directory/directory-tools.ts';
import type { Conversations } from '../invoke/conversations.ts';
import { httpTransport, type HttpTransportOptions } from '../invoke/http-transport.ts';
import { Invoker, type InvokerOptions } from '../invoke/invoker.ts';
import { invokeTool } from '../invoke/invoke-tool.ts';
import type { InvocationSession, PeerTransport } from '../invoke/invocation.ts';
import type { WaitOptions } from '../invoke/calls.ts';
import { plainTransport } from '../invoke/plain-transport.ts';
import { memoryTools } from '../memory/memory-tools.ts';
import { WorkingMemory } from '../memory/working-memory.ts';
import { peerResult } from '../turn/peer-result.ts';
import { Proposals, taskOver } from '../trust/proposals.ts';
import { TrustLedger } from '../trust/trust-ledger.ts';

/** The context in which a link joins a network. */
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
      'wellKnown' | 'requireSignedCards' | 'strangerPolicy' | 'operatorPolicy' | 'tls'
    >,
    Pick<
      InvokerOptions,
      | 'timeoutMs'
      | 'resultTtlMs'
      | 'askTimeoutMs'
      | 'maxInFlight'
      | 'maxInputRequiredRounds'
      | 'repetitionThreshold'
    > {
  /** Our own name to peers, also on the bus. */
  readonly name: string;
  readonly store: Store;
  /** An embedding model, as for `Memory`, to find services by meaning as well. @default none: words only */
  readonly embeddingModel?: EmbeddingModelSource;
  /** Further transports, preferred in this order. @default none: HTTP and gRPC only */
  readonly links?: readonly PeerLink[];
  /** Adds agents that announce themselves on links to the directory. @default true */
  readonly discovers?: boolean;
  /** The process ends with its calls, as a command does: no later process gets their answers. @default false */
  readonly isShortLived?: boolean;
  /** The keys that verify announced cards. */
  readonly cardKeys?: readonly TrustedKeys[];
  /** How peers are called over HTTP and gRPC: polling, retries, timeouts. @default the client's */
  readonly client?: HttpTransportOptions['client'];
  /** How much of an answer is kept over HTTP and gRPC. */
  readonly limits?: HttpTransportOptions['limits'];
  readonly conversations?: Conversations;
  /**
   * The tools for models of agents with these peers (`withPeers`): tools that return the answer of a peer,
   * tools that return a receipt and deliver the answer as a separate message, or none.
   * @default 'wait'
   */
  readonly turnTools?: 'wait' | 'dispatch' | 'none';
  readonly toolServers?: DirectoryToolsOptions['toolServers'];
  /** The lease of this process, if another part of it has one. @default a new one */
  readonly replica?: Replica;
  readonly scheduler?: Scheduler;
  readonly logger?: Logger;
}

const optionNames: OptionNames<PeerNetworkOptions> = {
  name: 'string',
  store: 'object',
  embeddingModel: true,
  links: 'list',
  discovers: 'boolean',
  isShortLived: 'boolean',
  cardKeys: 'list',
  client: 'object',
  limits: 'object',
  conversations: 'object',
  turnTools: ['wait', 'dispatch', 'none'],
  toolServers: true,
  replica: 'object',
  scheduler: 'object',
  logger: loggerOption,
  wellKnown: 'list',
  requireSignedCards: 'boolean',
  strangerPolicy: 'object',
  operatorPolicy: 'object',
  tls: 'object',
  timeoutMs: 'number',
  resultTtlMs: 'number',
  askTimeoutMs: 'number',
  maxInFlight: 'number',
  maxInputRequiredRounds: 'number',
  repetitionThreshold: 'number',
};

/**
 * The directory, trust, memory and calls of an agent in a network.
 * @example
 * async function translate({ trust, invoker }: PeerNetwork, session: InvocationSession) {
 *   await trust.grant(peerSubject('bob'), { level: 'act', skills: ['latin'], by: 'ada' });
 *   return invoker.invokeAndWait({ agent: 'bob', skill: 'latin', message: 'Good morning' }, session);
 * }
 */
export interface PeerNetwork extends AsyncDisposable {
  readonly directory: Directory;
  readonly invoker: Invoker;
  /** Sends a task to a peer and waits until it has ended or asks. A call with the same `id` joins it. */
  call(
    request: PeerRequest,
    session: InvocationSession,
    options?: WaitOptions & { readonly id?: string },
  ): Promise<PeerResult>;
  /** Waits until a call of this or an earlier process has ended or asks. */
  resume(id: string, options?: WaitOptions): Promise<PeerResult>;
  readonly trust: TrustLedger;
  readonly proposals: Proposals;
  /** The working memory of a caller's conversations. */
  readonly memory: (caller: Caller) => WorkingMemory;
  /** Tools for a model: find agents, give them tasks, and use working memory. */
  readonly tools: (options?: {
    readonly mode?: 'dispatch' | 'wait';
    readonly mayRegister?: boolean;
  }) => readonly Tool[];
  /** The tools for models of agents with these peers (`withPeers`). */
  readonly turnTools: readonly Tool[];
  /** Resolves when the network handles answers of peers; rejects if its start failed. */
  readonly started: Promise<void>;
  close(): Promise<void>;
}

/**
 * A network that does not handle answers yet.
 * @example
 * const network: OpenedPeers = await openPeers({ name: 'desk', store });
 * await using host = await hostOnBus(withPeers(desk, network), { bus, store });
 * await network.start();
 */
export interface OpenedPeers extends PeerNetwork {
  /**
   * Starts discovery and handles the answers of peers, including those that waited. Call it when the
   * conversations that the answers belong to can be reached.
   */
  start(): Promise<void>;
}

/**
 * Joins an agent to others: directory, trust, working memory, and calls to peers over HTTP, gRPC and
 * links such as the bus.
 * @example
 * await using network = await joinPeers({ name: 'me', store, links: [busLink({ bus })] });
 * const desk = withPeers(llmAgent({ name: 'desk', model }), network);
 */
export async function joinPeers(options: PeerNetworkOptions): Promise<PeerNetwork> {
  const network = await openPeers(options);
  try {
    await network.start();
  } catch (error) {
    await network.close();
    throw error;
  }
  return network;
}

/**
 * Like `joinPeers`, but handles no answers before `start`: for programs whose conversations run in an
 * engine, which must start first. Earlier calls wait for `start`.
 * @example
 * await using network = await openPeers({ name: 'desk', store, conversations });
 * await using host = await hostOnBus(withPeers(desk, network), { bus, store });
 * await network.start();
 */
export async function openPeers(options: PeerNetworkOptions): Promise<OpenedPeers> {
  checkOptions('joinPeers', options, optionNames, ['name', 'store']);
  const { name, store, links = [], cardKeys, isShortLived = false } = options;
  const { client, limits, toolServers } = options;
  const { wellKnown, requireSignedCards, strangerPolicy, operatorPolicy, tls } = options;
  const { scheduler = storeScheduler(store), logger = defaultLogger } = options;
  const { records } = store;
  const directory = new Directory({
    records,
    self: name,
    scheduler,
    logger,
    ...(options.embeddingModel !== undefined && {
      embeddings: { model: options.embeddingModel, vectors: store.vectors },
    }),
    ...present({ wellKnown, requireSignedCards, strangerPolicy, operatorPolicy, tls }),
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
    httpTransport({ directory, logger, client, limits }),
    httpTransport({
      directory,
      logger,
      client,
      limits,
      grpc: (policy, tls) => grpcBinding({ policy, tls }),
    }),
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
  const started = Promise.withResolvers<void>();
  started.promise.catch(() => undefined);
  const discoveries: (AsyncDisposable | undefined)[] = [];
  const start = async (): Promise<void> => {
    try {
      await directory.start();
      if (options.discovers !== false) {
        for (const link of joined) discoveries.push(await link.discover());
      }
      await invoker.start();
      started.resolve();
    } catch (error) {
      started.reject(error);
      throw error;
    }
  };
  const close = async (): Promise<void> => {
    await invoker.stop();
    for (const discovery of discoveries) await discovery?.[Symbol.asyncDispose]();
    directory.stop();
  };
  const tools: PeerNetwork['tools'] = ({ mode = 'dispatch', mayRegister = false } = {}) => [
    invokeTool({ invoker, mode }),
    ...directoryTools({ directory, mayRegister, ...present({ toolServers }) }),
    ...memoryTools(({ turn }) => memory(turn.caller)),
  ];
  const { turnTools = 'wait' } = options;
  const resume = async (id: string, waiting: WaitOptions = {}): Promise<PeerResult> => {
    const settled = await invoker.wait(id, waiting);
    return peerResult(settled, async (content) => {
      await invoker.answer(id, content);
      return resume(id, waiting);
    });
  };
  return {
    directory,
    invoker,
    async call(request, session, { id = scheduler.uuid(), ...waiting } = {}) {
      await invoker.invokeOnce(request, session, { id });
      return resume(id, waiting);
    },
    resume,
    trust,
    proposals,
    memory,
    tools,
    turnTools: turnTools === 'none' ? [] : tools({ mode: turnTools }),
    started: started.promise,
    start,
    close,
    [Symbol.asyncDispose]: close,
  };
}
