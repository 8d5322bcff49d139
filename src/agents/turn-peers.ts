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
  /** The name of the peer in the directory: see `peers:` in endpoints.yml. */
  readonly agent: string;
  /** The id of one of the peer's skills. @default its only skill; with several, the peer decides */
  readonly skill?: string;
  readonly message: string | readonly Part[];
  /** Fields that the skill documents, sent with the text. */
  readonly data?: JsonObject;
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
  /** Milliseconds after which the task is cancelled at the peer. @default the limit of `peers:` */
  readonly timeoutMs?: number;
}

/**
 * The outcome of a call to a peer. The peer can ask back or fail: only a completed call has `text` and
 * `data`, so programs have to check `state` first.
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
      /** Keys of the answer in working memory: `result`, `data`, and `artifacts` if it has files. */
      readonly keys: Readonly<Record<string, string>>;
    }
  | {
      /** The peer waits for an answer, or for consent or credentials. */
      readonly state: 'input-required' | 'auth-required';
      readonly agent: string;
      /** The question as text. */
      readonly question: string;
      readonly parts: readonly Part[];
      /**
       * Passes the question to the caller of this turn. The answer runs the turn again from its start
       * and with its original message: ended calls return their earlier results, and the call that
       * asked continues with the answer.
       */
      readonly end: TurnEnd;
      /** Answers the question in code instead. */
      answer(content: string | readonly Part[]): Promise<PeerResult>;
    }
  | {
      readonly state: 'failed' | 'rejected' | 'canceled' | 'timed-out';
      readonly agent: string;
      /** The reason from the peer or from the transport. */
      readonly reason: string;
      /** Fails this turn with that reason. */
      readonly end: TurnEnd;
    };

/**
 * The peers of an agent, for use in its turns.
 * @example
 * const reporter = agent({ name: 'reporter' }, async ({ peers, message }) => {
 *   const found = await peers.call({ agent: 'archive', message: textOf(message) });
 *   return found.state === 'completed' ? `Report: ${found.text}` : found.end;
 * });
 */
export interface TurnPeers {
  /**
   * Sends a task to a peer and waits. Its progress becomes progress of this turn; cancellation and the
   * time limits of the turn also apply to the peer. If the peer is unreachable, the result is failed. A
   * request that no peer can handle, such as one to an unknown agent, rejects.
   */
  call(request: PeerRequest): Promise<PeerResult>;
  /** Tools for models: find peers, call them, and use working memory. */
  readonly tools: readonly Tool[];
  /** The peers for an agent that runs within the turn of another. `name` is the same in every attempt. */
  within(name: string, turn: Pick<Turn, 'message' | 'isContinuation'>): TurnPeers;
  /**
   * If the message answers a peer's question that the agent passed on, the turn as it was then;
   * otherwise the given turn.
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

/** All members of a turn, so that the compiler reports one that is missing, also an optional one. */
type WholeTurn = { readonly [Member in keyof Required<Turn>]: Turn[Member] };

/** A turn with some members replaced. The others are read from the given turn on access. */
export function turnWith(
  turn: Turn,
  overrides: Partial<Pick<Turn, 'message' | 'isContinuation' | 'peers'>>,
): WholeTurn {
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
    get steps() {
      return turn.steps;
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
