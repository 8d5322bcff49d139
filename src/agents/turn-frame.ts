import type { Agent, Reply, Turn, TurnEnd } from './agent.ts';

/** The children of a turn (`runChild`), and their effect on its end. */
export interface ChildScope {
  /** The question of a child that waits for the caller. It ends the turn, even if the agent continues. */
  readonly pause: TurnEnd | undefined;
  /** Adds the state of the children to the end. */
  finish(end: TurnEnd | Reply): Promise<TurnEnd | Reply>;
}

/** The children that an agent ran in this process. */
export interface Children {
  /** By name. */
  readonly agents: Map<string, Agent>;
  abandon?: NonNullable<Agent['abandon']>;
}

/**
 * A WeakMap with an entry for every turn takes a fifth of the turn in garbage collection, and its
 * entries live until a full collection.
 */
const frameKey = Symbol('frame');

type FramedTurn = Turn & { [frameKey]?: TurnFrame };

/** Lets the function of a turn run other agents (`runChild`). */
export class TurnFrame {
  readonly children: Children;
  /** Set with the first child. */
  scope: Promise<ChildScope> | undefined;
  readonly #turn: Turn;

  constructor(turn: FramedTurn, children: Children) {
    this.#turn = turn;
    this.children = children;
    turn[frameKey] = this;
  }

  /** The end from the function, with the state of its children. */
  async end(end: TurnEnd | Reply): Promise<TurnEnd | Reply> {
    return this.scope === undefined
      ? keepChildren(this.#turn, end)
      : (await this.scope).finish(end);
  }

  /** The question of a child, which ends the turn even if the function throws. */
  async pause(): Promise<TurnEnd | undefined> {
    return (await this.scope)?.pause;
  }
}

/** The frame of a turn that `agent` passed to a function; undefined for other turns. */
export function frameOf(turn: FramedTurn): TurnFrame | undefined {
  return turn[frameKey];
}

/** Lets children run within another view of the same turn. */
export function shareFrame(turn: FramedTurn, view: FramedTurn): void {
  const frame = turn[frameKey];
  if (frame !== undefined) view[frameKey] = frame;
}

/** The key of the children's state within the state of their agent. */
export const childrenKey = '$children';

/** A turn without children keeps the state of the children of earlier turns. */
async function keepChildren(turn: Turn, end: TurnEnd | Reply): Promise<TurnEnd | Reply> {
  const value = end.context?.value;
  if (value === undefined) return end;
  const kept = (await turn.state.load())?.[childrenKey];
  if (kept === undefined) return end;
  return { ...end, context: { ...end.context, value: { ...value, [childrenKey]: kept } } };
}
