import type { Caller, Tool, ToolContext } from '../../agents/index.ts';
import { verifyCard, type TrustedKeys } from '../../auth/index.ts';
import { grpcBinding } from '../../grpc/index.ts';
import {
  type Conversations,
  Directory,
  type DirectoryOptions,
  directoryTools,
  type DirectoryToolsOptions,
  HttpTransport,
  Invoker,
  type InvokerOptions,
  invokeTool,
  memoryTools,
  PlainTransport,
  Proposals,
  taskOver,
  TrustLedger,
  WorkingMemory,
} from '../../peers/index.ts';
import { ownerKey, type Replica, type Store } from '../../store/index.ts';
import { type Scheduler, storeScheduler } from '../../tasks/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import type { Identification } from '../exchange/index.ts';
import type { MessageSigner } from '../identity/index.ts';
import {
  type Bus,
  type Consumption,
  ownResponseQueue,
  type Queue,
  responseQueue,
} from '../transport/index.ts';
import { BusTransport } from './bus-transport.ts';
import { listenForAgents } from './discovery.ts';
import { replyName } from './reply-name.ts';

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
    Identification,
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
  /** Our own name, on the bus and to peers. */
  readonly name: string;
  readonly store: Store;
  /** @default none: peers are reached over HTTP only */
  readonly bus?: Bus;
  readonly signer?: MessageSigner;
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
 * Joins an agent to others: directory, trust, working memory, and the calling of peers over the bus
 * and HTTP.
 * @example
 * await using network = await joinPeers({ name: 'me', store, bus });
 * const assistant = llmAgent({ name: 'desk', model, tools: network.tools({ mode: 'wait' }) });
 */
export async function joinPeers(options: PeerNetworkOptions): Promise<PeerNetwork> {
  const {
    name,
    store,
    bus,
    signer,
    verifier,
    requireSigned,
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
  const identification = {
    ...(verifier !== undefined && { verifier }),
    ...(requireSigned !== undefined && { requireSigned }),
  };
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
  const overBus =
    bus === undefined
      ? []
      : [
          new BusTransport({
            bus,
            name,
            directory,
            logger,
            ...identification,
            ...(signer !== undefined && { signer }),
            replies: isShortLived
              ? ownResponseQueue(`${name.slice(0, 60)}-${scheduler.uuid()}`)
              : await lastingReplies(name, store, scheduler),
          }),
        ];
  const transports = [
    ...overBus,
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
  let discovery: Consumption | undefined;
  await directory.start();
  if (bus !== undefined) {
    const listener = scheduler.uuid();
    discovery = await listenForAgents({ bus, directory, listener, logger, ...identification });
  }
  await invoker.start();
  const close = async (): Promise<void> => {
    await invoker.stop();
    await discovery?.close();
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

const hour = 60 * 60 * 1000;

/** Answers wait for the store that knows what they answer; one in memory is soon gone. */
async function lastingReplies(name: string, store: Store, scheduler: Scheduler): Promise<Queue> {
  const own = await replyName(name, store.records, scheduler);
  return responseQueue(own, store.driver === 'memory' ? { expiresAfterMs: hour } : {});
}
