import type { Agent, Reply, Turn, TurnEnd } from './agent.ts';

/** What the agents that an agent runs within its turn (`runChild`) add to its end. */
export interface ChildScope {
  /** The question of a child that waits for the caller. It ends the turn, whatever the agent does. */
  readonly pause: TurnEnd | undefined;
  /** The end with the state of the children. */
  finish(end: TurnEnd | Reply): Promise<TurnEnd | Reply>;
}

/** The children that an agent has run in this process. */
export interface Children {
  /** By name. */
  readonly agents: Map<string, Agent>;
  abandon?: NonNullable<Agent['abandon']>;
}

/**
 * Not a WeakMap: the entries of one that every turn enters cost the garbage collector a fifth of the
 * turn, and live on until a full collection.
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

  /** The end that the function gave, with the state of its children. */
  async end(end: TurnEnd | Reply): Promise<TurnEnd | Reply> {
    return this.scope === undefined
      ? keepChildren(this.#turn, end)
      : (await this.scope).finish(end);
  }

  /** The question of a child, by which the turn ends whatever the function throws. */
  async pause(): Promise<TurnEnd | undefined> {
    return (await this.scope)?.pause;
  }
}

/** The frame of a turn that `agent` has given to a function; undefined for other turns. */
export function frameOf(turn: FramedTurn): TurnFrame | undefined {
  return turn[frameKey];
}

/** Lets children run within another view of the same turn. */
export function shareFrame(turn: FramedTurn, view: FramedTurn): void {
  const frame = turn[frameKey];
  if (frame !== undefined) view[frameKey] = frame;
}

/** Under this key the state of an agent has that of its children. */
export const childrenKey = '$children';

/** A turn that runs no child keeps the state of those that earlier turns have run. */
async function keepChildren(turn: Turn, end: TurnEnd | Reply): Promise<TurnEnd | Reply> {
  const value = end.context?.value;
  if (value === undefined) return end;
  const kept = (await turn.state.load())?.[childrenKey];
  if (kept === undefined) return end;
  return { ...end, context: { ...end.context, value: { ...value, [childrenKey]: kept } } };
}
