import type { Agent, Reply, Turn, TurnEnd, TurnEvent } from './agent.ts';
import { isEnd } from './turn-output.ts';

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

interface TurnFrame {
  readonly children: Children;
  /** Set with the first child. */
  scope?: Promise<ChildScope>;
}

const frames = new WeakMap<Turn, TurnFrame>();

/** The frame of a turn that `agent` has given to a function; undefined for other turns. */
export function frameOf(turn: Turn): TurnFrame | undefined {
  return frames.get(turn);
}

/** Under this key the state of an agent has that of its children. */
export const childrenKey = '$children';

/** The events of a turn, within which `runChild` may run other agents. */
export async function* inFrame(
  turn: Turn,
  children: Children,
  events: AsyncIterable<TurnEvent>,
): AsyncGenerator<TurnEvent> {
  const frame: TurnFrame = { children };
  frames.set(turn, frame);
  let hasEnded = false;
  try {
    for await (const event of events) {
      if (isEnd(event)) {
        hasEnded = true;
        yield frame.scope === undefined
          ? await keepChildren(turn, event)
          : await (await frame.scope).finish(event);
      } else yield event;
    }
  } catch (error) {
    const scope = await frame.scope;
    if (hasEnded || scope?.pause === undefined) throw error;
    hasEnded = true;
    yield scope.pause;
  }
  if (!hasEnded && frame.scope !== undefined) {
    yield await (await frame.scope).finish({ kind: 'completed' });
  }
}

/** A turn that runs no child keeps the state of those that earlier turns have run. */
async function keepChildren(turn: Turn, end: TurnEnd | Reply): Promise<TurnEnd | Reply> {
  const value = end.context?.value;
  if (value === undefined) return end;
  const kept = (await turn.state.load())?.[childrenKey];
  if (kept === undefined) return end;
  return { ...end, context: { ...end.context, value: { ...value, [childrenKey]: kept } } };
}
