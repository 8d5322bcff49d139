import {
  type PeerRequest,
  type PeerResult,
  type Tool,
  type Turn,
  type TurnPeers,
  turnWith,
  type Working,
  working,
} from '../../agents/index.ts';
import type { Part } from '../../protocol/index.ts';
import type { Invocation, InvocationSession } from '../invoke/invocation.ts';
import type { Invoker } from '../invoke/invoker.ts';
import { digestId } from '../../store/index.ts';
import { peerResult } from './peer-result.ts';

export interface TurnPeerCallsOptions {
  readonly turn: Turn;
  readonly invoker: Invoker;
  readonly tools: readonly Tool[];
  /** Resolves when the invoker has started. */
  readonly started: Promise<void>;
  readonly emit: (progress: Working) => Promise<void>;
  /** Called before each call. */
  readonly onCall: () => void;
}

type GivenTurn = Pick<Turn, 'message' | 'isContinuation'>;

/** The turn whose calls are made, or found again. */
interface Replay {
  /** The id of the message that started the calls. */
  readonly run: string;
  /** The call that the present message answers. */
  readonly asking: Invocation | undefined;
}

/**
 * The peers of one turn. A call is identified by task, agent, the message of its turn and its number in
 * that turn, so that it is made once: a turn that runs again after a crash or after an answer finds the
 * calls of its former run, in order, and gets their results.
 */
export class TurnPeerCalls implements TurnPeers {
  readonly #options: TurnPeerCallsOptions;
  readonly #scope: string;
  /** The turn as the agent of this scope got it. */
  readonly #given: GivenTurn;
  #replay: Promise<Replay> | undefined;
  #count = 0;

  constructor(options: TurnPeerCallsOptions, scope = '', given: GivenTurn = options.turn) {
    this.#options = options;
    this.#scope = scope;
    this.#given = given;
  }

  get tools(): readonly Tool[] {
    return this.#options.tools;
  }

  within(name: string, given: GivenTurn): TurnPeers {
    return new TurnPeerCalls(this.#options, `${this.#scope}/${name}`, given);
  }

  async call(request: PeerRequest): Promise<PeerResult> {
    const { turn, invoker, started } = this.#options;
    this.#count += 1;
    const number = this.#count;
    this.#options.onCall();
    await started;
    const { run, asking } = await this.#findReplay();
    const id = this.#idOf(run, number);
    const known = await invoker.find(id);
    if (known?.state === 'asking' && asking?.id === id) {
      // The rest of the turn finds the calls of this run, for any outcome of the call that asked.
      await turn.journal?.write(this.#journalKey, id);
      await invoker.answer(id, this.#given.message.parts);
    } else {
      const isRepeatable = turn.journal !== undefined;
      const origin = { taskId: turn.taskId, scope: this.#scope, run, number, isRepeatable };
      await invoker.invokeOnce(request, this.#session, { id, origin });
    }
    return this.#settle(id);
  }

  async replayed(view: Turn): Promise<Turn> {
    const { asking } = await this.#findReplay();
    const seen = asking?.origin?.turn;
    return seen === undefined ? view : turnWith(view, seen);
  }

  async #settle(id: string): Promise<PeerResult> {
    const { turn, invoker, emit } = this.#options;
    const settled = await invoker.wait(id, {
      signal: turn.signal,
      onProgress: (text) => emit(working(text)),
    });
    if (settled.state === 'asking') await this.#keepTurn(settled);
    return peerResult(settled, async (content: string | readonly Part[]) => {
      await invoker.answer(id, content);
      return this.#settle(id);
    });
  }

  /** Keeps the message of the turn with the question: the turn runs again with it. */
  async #keepTurn({ id, origin }: Invocation): Promise<void> {
    if (origin === undefined || origin.turn !== undefined) return;
    const { message, isContinuation } = this.#given;
    const { asking } = await this.#findReplay();
    const turn = asking?.origin?.turn ?? { message, isContinuation };
    await this.#options.invoker.keepOrigin(id, { ...origin, turn });
  }

  #findReplay(): Promise<Replay> {
    this.#replay ??= this.#lookUp();
    return this.#replay;
  }

  /** Finds the call that asked in an earlier turn of the task, if there is one. */
  async #lookUp(): Promise<Replay> {
    const { turn } = this.#options;
    const { messageId } = turn.message;
    if (!this.#given.isContinuation) return { run: messageId, asking: undefined };
    const asking = (await this.#answeredBefore()) ?? (await this.#firstQuestion());
    return { run: asking?.origin?.run ?? messageId, asking };
  }

  /** The call that this turn answered before its process died. */
  async #answeredBefore(): Promise<Invocation | undefined> {
    const { turn, invoker } = this.#options;
    const id = turn.attempt > 1 ? await turn.journal?.read(this.#journalKey) : undefined;
    return typeof id === 'string' ? invoker.find(id) : undefined;
  }

  /** Of several calls that ask, the one that was made first is answered first. */
  async #firstQuestion(): Promise<Invocation | undefined> {
    const { turn, invoker } = this.#options;
    const open = await invoker.list(this.#session);
    return open
      .filter(
        ({ state, origin }) =>
          state === 'asking' &&
          origin?.turn !== undefined &&
          origin.taskId === turn.taskId &&
          origin.scope === this.#scope,
      )
      .toSorted((left, right) => (left.origin?.number ?? 0) - (right.origin?.number ?? 0))[0];
  }

  /** A digest stays short if callers choose long ids. */
  #idOf(run: string, number: number): string {
    const { taskId } = this.#options.turn;
    return digestId(taskId, this.#scope, run, number);
  }

  get #journalKey(): string {
    return `peers${this.#scope}`;
  }

  get #session(): InvocationSession {
    const { contextId, caller } = this.#options.turn;
    return { id: contextId, caller };
  }
}
