import type { JsonObject } from '../../protocol/index.ts';
import type { Agent, Turn, TurnEnd } from '../agent.ts';
import { ChildTurn, inBranch } from '../child-turn.ts';
import { drive, isPause } from '../drive.ts';
import { TurnOutput, type ProgressEvent } from '../turn-output.ts';
import { type Entry, toLog } from '../tool-loop/conversation.ts';
import { type Delegation, delegate, delegationOf, conversationalAgents } from './delegation.ts';
import type { LlmSettings } from './options.ts';
import type { SavedState } from './saved-state.ts';

export interface HandOverOptions {
  readonly settings: LlmSettings;
  readonly turn: Turn;
  readonly saved: SavedState;
  readonly child: Agent;
  /** Whether the message answers a question of the child. */
  readonly isContinued: boolean;
  /** How many agents had the turn before. */
  readonly transfers: number;
  /** Aborts with the turn, or when the consumer of its events leaves. */
  readonly signal: AbortSignal;
  readonly say: (event: ProgressEvent) => Promise<void>;
}

export interface HandedOver {
  readonly end: TurnEnd;
  /** Entries for the conversation's log. */
  readonly log: readonly JsonObject[];
  /** The agent that the child transferred the conversation to. */
  readonly requested: string | undefined;
}

/** Runs the turn in a sub agent and saves its state. */
export async function handOver(options: HandOverOptions): Promise<HandedOver> {
  const { settings, turn: parent, saved, child, isContinued, transfers, signal, say } = options;
  const { name, description, subAgents } = settings;
  const branch = `agent/${child.name}`;
  const sharesConversation = conversationalAgents.has(child);
  const turn = new ChildTurn(parent, {
    name: branch,
    journalName: `${branch}/${transfers}`,
    value: saved.children.get(child.name),
    isContinuation: isContinued,
    sharesConversation,
    signal,
  });
  const delegation: Delegation = {
    roster: [
      { name, description: description ?? name },
      ...subAgents.filter((each) => each !== child),
      ...(delegationOf(parent)?.roster ?? []),
    ],
  };
  delegate(turn, delegation);
  const output = new TurnOutput();
  const events = drive(child, turn, output);
  let next = await events.next();
  for (; next.done !== true; next = await events.next()) await say(next.value);
  const end = next.value;
  const { value, log = [] } = end.context ?? {};
  if (value !== undefined) saved.children.set(child.name, value);
  // An agent that can hand the conversation back keeps it.
  saved.active = sharesConversation ? child.name : undefined;
  const { requested } = delegation;
  if (sharesConversation) return { end, log, requested };
  const heard: Entry[] = [
    { role: 'user', parts: parent.message.parts },
    { role: 'assistant', text: output.text() },
  ];
  const said = isPause(end) ? [] : [toLog(child.name, heard)];
  return { end, log: [...inBranch(branch, log), ...said], requested };
}
