import { type Agent, textOf, type Turn, type TurnEvent, working } from '../../agents/index.ts';
import { type AgentSkill, data } from '../../protocol/index.ts';
import type { Assistant } from '../assistant.ts';
import type { EventDraft } from '../tracker/index.ts';
import { converse } from './converse.ts';
import { type Keep, keeping, notReady, type RestTimers } from './ends.ts';
import { partsOf } from './parts.ts';
import { skillsOf } from './skills.ts';
import { stateOf } from './state-mapper.ts';
import { isChannel, speakerOf } from './speaker.ts';

/**
 * How an assistant is shown as an agent.
 * @example
 * const options: AssistantAgentOptions = {
 *   assistant: () => current, // set anew after each reload
 *   name: 'bank', description: 'Looks after accounts, cards and transfers.',
 * };
 */
export interface AssistantAgentOptions {
  /** The assistant of the moment: undefined until a model is loaded, another after a reload. */
  readonly assistant: () => Assistant | undefined;
  /** @default 'Rasa Agent' */
  readonly name?: string;
  readonly description: string;
  /** @default true */
  readonly includeConversationRepair?: boolean;
  /** Note it when conversations rest. @default none: it shows with the next message only */
  readonly timers?: RestTimers;
}

/**
 * An assistant as an agent: each context is a conversation, each message a turn of it. The tracker is
 * saved in the transaction that ends the turn, so a conversation and its tasks never disagree.
 * @example serve(assistantAgent({ assistant: () => assistant, description: 'Looks after accounts.' }))
 */
export function assistantAgent(options: AssistantAgentOptions): Agent {
  const repair = { includeConversationRepair: options.includeConversationRepair ?? true };
  return {
    name: options.name ?? 'Rasa Agent',
    description: options.description,
    get skills(): readonly AgentSkill[] {
      const assistant = options.assistant();
      return assistant === undefined ? [] : skillsOf(assistant.flows, repair);
    },
    // What others record about a conversation answers no question of it.
    supersedes: (turn) => givenBy(turn) === undefined,
    // Channels and the API want an answer, not a task.
    replies: 'message',
    async *take(turn) {
      const assistant = options.assistant();
      if (assistant === undefined) {
        turn.logger.warn({}, 'a2a_server.rasa_a2a_agent_executor.execute.agent_not_ready');
        yield notReady();
      } else if (isDirect(turn)) {
        yield* answerDirectly(assistant, turn, keeping(assistant, turn, options.timers));
      } else {
        yield working();
        const keep = keeping(assistant, turn, options.timers);
        yield* converse(assistant, turn, { ...repair, keep });
      }
    },
    async abandon(turn) {
      const assistant = options.assistant();
      const tracker = await turn.state.load();
      if (assistant === undefined || tracker === undefined) return undefined;
      const { contextId: senderId, signal } = turn;
      const result = await assistant.abandon({ senderId, tracker, signal });
      const context = await keeping(assistant, turn, options.timers)(result);
      return { parts: partsOf('canceled', result.outcome, []), context };
    },
  };
}

/** A door beside A2A that wants the answer as a plain message. */
function isDirect(turn: Turn): boolean {
  return isChannel(turn) && turn.metadata['direct'] === true;
}

/** What a door wants of the conversation, instead of saying something in it. */
interface Given {
  /** To be part of it. */
  readonly events?: readonly EventDraft[];
  /** The timer that is due. */
  readonly rests?: string;
  /** Ends the work of agents elsewhere. */
  readonly endsWork?: boolean;
}

function givenBy(turn: Turn): Given | undefined {
  if (!isDirect(turn)) return undefined;
  return turn.message.parts[0]?.data as Given | undefined;
}

async function* answerDirectly(
  assistant: Assistant,
  turn: Turn,
  keep: Keep,
): AsyncGenerator<TurnEvent> {
  const { events, rests, endsWork } = givenBy(turn) ?? {};
  const speaker = await speakerOf(turn);
  if (rests !== undefined) {
    const rested = assistant.rest(speaker, rests);
    const parts = [data({ inactive: rested !== undefined })];
    yield { kind: 'message', parts, ...(rested && { context: await keep(rested) }) };
    return;
  }
  if (endsWork === true) {
    const ended = speaker.tracker === undefined ? undefined : await assistant.endWork(speaker);
    const parts = [data({ agents: ended?.agents ?? [] })];
    const isChanged = ended !== undefined && ended.agents.length > 0;
    yield { kind: 'message', parts, ...(isChanged && { context: await keep(ended) }) };
    return;
  }
  const result =
    events === undefined
      ? await assistant.handle({ ...speaker, text: textOf(turn.message) })
      : await assistant.record(speaker, events);
  const state = stateOf(result.outcome, { includeConversationRepair: true });
  const parts = partsOf(state, result.outcome, result.messages);
  yield { kind: 'message', parts, context: await keep(result) };
}
