import { invalidConfiguration, type JsonObject, type Part } from '../protocol/index.ts';
import type { Turn, TurnEnd } from './agent.ts';
import type { Tool } from './tools/tool.ts';

/**
 * A task for a peer.
 * @example
 * const request: PeerRequest = {
 *   agent: 'bob',
 *   skill: 'book-seat',
 *   message: 'A seat by the window, please',
 *   data: { train: 'RJ 63', date: '2026-11-20' },
 * };
 */
export interface PeerRequest {
  /** Its name in the directory: see `peers:` in endpoints.yml. */
  readonly agent: string;
  /** The id of one of its skills. @default its only skill; with several, the peer decides */
  readonly skill?: string;
  readonly message: string | readonly Part[];
  /** Fields that the skill documents, sent in addition to the text. */
  readonly data?: JsonObject;
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
  /** Milliseconds until the task is cancelled at the peer. @default the limit of `peers:` */
  readonly timeoutMs?: number;
}

/**
 * The outcome of a call to a peer. A peer may ask back, and may fail: only a completed call has `text`
 * and `data`, so that they can't be read before `state` is checked.
 * @example
 * const found = await turn.peers.call({ agent: 'archive', message: 'bees' });
 * if (found.state !== 'completed') return found.end;
 * return `Report: ${found.text}`;
 */
export type PeerResult =
  | {
      readonly state: 'completed';
      readonly agent: string;
      readonly text: string;
      /** The data parts of the answer. */
      readonly data: readonly JsonObject[];
      /** Keys of the answer in working memory: `result`, `data`, and `artifacts` where it has files. */
      readonly keys: Readonly<Record<string, string>>;
    }
  | {
      /** The peer waits for an answer, or for consent or credentials. */
      readonly state: 'input-required' | 'auth-required';
      readonly agent: string;
      /** Its question as text. */
      readonly question: string;
      readonly parts: readonly Part[];
      /**
       * Passes the question to the caller of this turn. With the answer the turn runs again, from its
       * start and with its own message: ended calls return what they returned before, and the call that
       * asked continues with the answer.
       */
      readonly end: TurnEnd;
      /** Answers in code instead. */
      answer(content: string | readonly Part[]): Promise<PeerResult>;
    }
  | {
      readonly state: 'failed' | 'rejected' | 'canceled' | 'timed-out';
      readonly agent: string;
      /** Why, in the words of the peer or of the transport. */
      readonly reason: string;
      /** Fails this turn with that reason. */
      readonly end: TurnEnd;
    };

/**
 * The peers of an agent, as its turns see them.
 * @example
 * const reporter = agent({ name: 'reporter' }, async ({ peers, message }) => {
 *   const found = await peers.call({ agent: 'archive', message: textOf(message) });
 *   return found.state === 'completed' ? `Report: ${found.text}` : found.end;
 * });
 */
export interface TurnPeers {
  /**
   * Gives a peer a task and waits. Its progress is progress of this turn; a cancel and the time limits
   * of the turn reach the peer. A peer that can't be reached is a failed result; a request that no peer
   * could handle, such as one to an unknown agent, rejects.
   */
  call(request: PeerRequest): Promise<PeerResult>;
  /** Tools for models: find peers, call them, and use working memory. */
  readonly tools: readonly Tool[];
  /** For an agent that runs within the turn of another. `name` is the same in every attempt. */
  within(name: string, turn: Pick<Turn, 'message' | 'isContinuation'>): TurnPeers;
  /**
   * The turn as its agent saw it when it passed on a peer's question that this message answers: the
   * same turn otherwise.
   */
  replayed(turn: Turn): Promise<Turn>;
}

/** The peers of a process without `peers:`. */
export const noPeers: TurnPeers = {
  async call({ agent }) {
    throw invalidConfiguration(
      `agent "${agent}" can't be called: this process has no peers; add "peers:" to endpoints.yml, or in code wrap the agent with withPeers(agent, network)`,
    );
  },
  tools: [],
  within: () => noPeers,
  replayed: async (turn) => turn,
};

/** A turn with other members. Members are read when the agent reads them. */
export function turnWith(
  turn: Turn,
  overrides: Partial<Pick<Turn, 'message' | 'isContinuation' | 'peers'>>,
): Turn {
  return {
    message: overrides.message ?? turn.message,
    isContinuation: overrides.isContinuation ?? turn.isContinuation,
    peers: overrides.peers ?? turn.peers,
    taskId: turn.taskId,
    contextId: turn.contextId,
    attempt: turn.attempt,
    get caller() {
      return turn.caller;
    },
    get metadata() {
      return turn.metadata;
    },
    get acceptedOutputModes() {
      return turn.acceptedOutputModes;
    },
    get extensions() {
      return turn.extensions;
    },
    get state() {
      return turn.state;
    },
    get session() {
      return turn.session;
    },
    get journal() {
      return turn.journal;
    },
    get signal() {
      return turn.signal;
    },
    get clock() {
      return turn.clock;
    },
    get logger() {
      return turn.logger;
    },
    history: () => turn.history(),
  };
}
