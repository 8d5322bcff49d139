import type { JsonObject } from '../../protocol/index.ts';
import type { Agent, Turn, TurnEnd } from '../agent.ts';
import { childTurn, inBranch } from '../child-turn.ts';
import { drive, isPause } from '../drive.ts';
import { type Entry, toLog } from '../tool-loop/conversation.ts';
import type { Steps } from '../steps/step-log.ts';
import { type Tool, tool } from '../tools/tool.ts';
import { TurnOutput, type ProgressEvent } from '../turn-output.ts';
import type { LlmSettings } from './options.ts';
import type { SavedState } from './saved-state.ts';

type Target = Pick<Agent, 'name' | 'title' | 'description'>;

/** Lets an agent that received a conversation transfer it to another agent. */
interface Delegation {
  /** The possible targets, in addition to the agent's own sub agents. */
  readonly targets: readonly Target[];
  /** The target that the agent selected. */
  requested?: string;
}

const delegations = new WeakMap<Turn, Delegation>();

export function delegationOf(turn: Turn): Delegation | undefined {
  return delegations.get(turn);
}

/** Agents that share their parent's conversation: they log to it, and can transfer it. */
export const conversationalAgents = new WeakSet<Agent>();

export const transferName = 'transfer_to_agent';

/** The tool with which a model transfers the conversation; the loop handles the call itself. */
export function transferTool(targets: readonly Target[]): Tool {
  const list = targets
    .map(({ name, title = name, description }) => {
      const label = title === name ? name : `${name} (${title})`;
      return `- ${label}: ${description}`;
    })
    .join('\n');
  return tool({
    name: transferName,
    description: `Hands the conversation to another agent, who then answers the user. The agents:\n${list}`,
    input: {
      type: 'object',
      properties: { agent_name: { type: 'string', enum: targets.map(({ name }) => name) } },
      required: ['agent_name'],
    },
    run: () => 'transferred',
  });
}

export interface HandOverOptions {
  readonly settings: LlmSettings;
  readonly turn: Turn;
  readonly saved: SavedState;
  readonly child: Agent;
  /** Whether the message answers a question of the child. */
  readonly isContinued: boolean;
  /** The number of transfers in this turn before this one. */
  readonly transfers: number;
  /** Aborts with the turn, or when the consumer of its events leaves. */
  readonly signal: AbortSignal;
  readonly emit: (event: ProgressEvent) => Promise<void>;
  /** Records the steps of the child. */
  readonly steps: Steps | undefined;
}

export interface HandedOver {
  readonly end: TurnEnd;
  /** Entries for the conversation's log. */
  readonly log: readonly JsonObject[];
  /** The agent that the child transferred the conversation to. */
  readonly requested: string | undefined;
}

/** Runs the turn in a sub agent, and keeps the sub agent's state. */
export async function handOver(options: HandOverOptions): Promise<HandedOver> {
  const { settings, turn: parent, saved, child, isContinued, transfers, signal, emit } = options;
  const { name, description = name, subAgents } = settings;
  const branch = `agent/${child.name}`;
  const sharesConversation = conversationalAgents.has(child);
  const turn = childTurn(parent, {
    name: branch,
    journalName: `${branch}/${transfers}`,
    value: saved.children.get(child.name),
    isContinuation: isContinued,
    sharesConversation,
    signal,
    steps: options.steps,
  });
  const others = subAgents.filter((each) => each !== child);
  const outside = delegationOf(parent)?.targets ?? [];
  const delegation: Delegation = { targets: [{ name, description }, ...others, ...outside] };
  delegations.set(turn, delegation);
  const output = new TurnOutput();
  const events = drive(child, turn, output);
  let next = await events.next();
  for (; next.done !== true; next = await events.next()) await emit(next.value);
  const end = next.value;
  const { value, log = [] } = end.context ?? {};
  if (value !== undefined) saved.children.set(child.name, value);
  // An agent that can transfer the conversation back stays active.
  saved.active = sharesConversation ? child.name : undefined;
  const { requested } = delegation;
  if (sharesConversation) return { end, log, requested };
  const exchange: Entry[] = [
    { role: 'user', parts: parent.message.parts },
    { role: 'assistant', text: output.text() },
  ];
  const logged = isPause(end) ? [] : [toLog(child.name, exchange)];
  return { end, log: [...inBranch(branch, log), ...logged], requested };
}
