import type { Caller } from '../../agents/index.ts';
import { type TaskState, toLegateError } from '../../protocol/index.ts';
import type { Replica } from '../../store/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { keySegment, sessionNamespace, type WorkingMemory } from '../memory/index.ts';
import type { AnswerContent } from './answer-text.ts';
import type { Calls } from './calls.ts';
import type { Conversations } from './conversations.ts';
import type { Invocation, InvocationEnd, InvocationOutcome } from './invocation.ts';
import { outcomeNotice } from './notices.ts';

interface CloseOptions {
  /** Doesn't notify the conversation. */
  readonly isQuiet?: boolean;
  /** The peer's task has to be cancelled. */
  readonly mustCancel?: boolean;
}

export interface OutcomesOptions {
  readonly calls: Calls;
  readonly replica: Replica;
  readonly conversations: Conversations;
  readonly memory: (caller: Caller) => WorkingMemory;
  /** How long results are kept, in milliseconds. */
  readonly resultTtlMs: number;
  readonly logger: Logger;
}

/** Ends invocations and notifies their conversations. */
export class Outcomes {
  readonly #options: OutcomesOptions;

  constructor(options: OutcomesOptions) {
    this.#options = options;
  }

  /** Ends an invocation, once; undefined when it has ended before. */
  async close(
    id: string,
    outcome: InvocationOutcome,
    { isQuiet = false, mustCancel = false }: CloseOptions = {},
  ): Promise<Invocation | undefined> {
    const { calls, replica } = this.#options;
    const ended = await calls.change(id, (current) =>
      current.state === 'ended'
        ? undefined
        : {
            ...current,
            state: 'ended',
            outcome,
            // A waiter in another process sets it when it has the outcome.
            isNotified: isQuiet || (current.mode === 'wait' && current.process === replica.id),
            // In the same write, so that a crash doesn't leave the peer's task running.
            ...(mustCancel && { mustCancel }),
          },
    );
    if (ended?.isChanged !== true) return undefined;
    const { invocation } = ended;
    if (invocation.isNotified !== true && !(await this.#isWaitedFor(invocation)))
      await this.notify(invocation);
    return invocation;
  }

  /** Whether another replica waits for the outcome; if it dies, its successor notifies. */
  async #isWaitedFor({ mode, process }: Invocation): Promise<boolean> {
    const { replica } = this.#options;
    if (mode !== 'wait' || process === undefined || process === replica.id) return false;
    return (await replica.dead([process])).size === 0;
  }

  /** Ends an invocation and cancels the peer's task. */
  async abandon(
    id: string,
    outcome: InvocationOutcome,
    options: { readonly isQuiet?: boolean } = {},
  ): Promise<void> {
    const ended = await this.close(id, outcome, { ...options, mustCancel: true });
    if (ended !== undefined) await this.#options.calls.cancelRemote(ended);
  }

  /** The peer or its transport failed. */
  async fail({ id, agent }: Invocation, thrown: Error): Promise<void> {
    const { message } = toLegateError(thrown);
    this.#options.logger.warn({ invocation: id, agent, error: thrown }, 'peers.invocation.failed');
    await this.close(id, { end: 'error', text: message, data: [] });
  }

  /** The peer has finished. */
  async finish(invocation: Invocation, content: AnswerContent): Promise<void> {
    if (invocation.state === 'ended') return this.#late(invocation, content);
    await this.close(invocation.id, await this.#outcomeOf(invocation, content));
  }

  /** Notifies the conversation of the outcome. A failure is retried after a restart. */
  async notify(invocation: Invocation): Promise<void> {
    const { conversations, calls, logger } = this.#options;
    const { id, outcome } = invocation;
    if (outcome === undefined) return;
    try {
      const text = outcomeNotice(invocation, outcome);
      await conversations.ended?.(invocation, { id: `${id} result`, text, outcome });
      await calls.change(id, (current) => ({ ...current, isNotified: true }));
    } catch (error) {
      logger.error({ invocation: id, error }, 'peers.outcome.notify_failed');
    }
  }

  /** A result after the timeout still counts; a confirmed cancellation doesn't. */
  async #late(invocation: Invocation, content: AnswerContent): Promise<void> {
    const { calls, conversations } = this.#options;
    const isWanted =
      invocation.outcome?.end === 'timed-out' && content.state !== 'TASK_STATE_CANCELED';
    if (!isWanted) return;
    const outcome = await this.#outcomeOf(invocation, content);
    const late = await calls.change(invocation.id, (current) =>
      current.outcome?.end === 'timed-out' ? { ...current, outcome } : undefined,
    );
    if (late?.isChanged !== true) return;
    const text = outcomeNotice(invocation, outcome, true);
    const id = `${invocation.id} late`;
    await conversations.ended?.(late.invocation, { id, text, outcome });
  }

  async #outcomeOf(invocation: Invocation, content: AnswerContent): Promise<InvocationOutcome> {
    const { resultTtlMs: ttlMs, memory, logger } = this.#options;
    const { state, text, data, artifacts } = content;
    const hasResult = text !== '' || data.length > 0 || artifacts.length > 0;
    const keys = hasResult
      ? await saveResult(invocation, content, {
          memory: memory(invocation.session.caller),
          ttlMs,
          logger,
        })
      : undefined;
    return { end: endOf(state), text, data, ...(keys !== undefined && { keys }) };
  }
}

/** A turn of a peer that is over has no other states. */
function endOf(state: TaskState): InvocationEnd {
  const isOpen =
    state === 'TASK_STATE_SUBMITTED' ||
    state === 'TASK_STATE_WORKING' ||
    state === 'TASK_STATE_UNSPECIFIED';
  return isOpen ? 'error' : state;
}

export interface ResultOptions {
  readonly memory: WorkingMemory;
  readonly ttlMs: number;
  readonly logger: Logger;
}

/**
 * Keeps an answer in working memory, where the conversation finds it: its text, its data, and its
 * artifacts where they are more than that. What does not fit is logged, and told in words instead.
 */
export async function saveResult(
  invocation: Invocation,
  content: AnswerContent,
  options: ResultOptions,
): Promise<InvocationOutcome['keys']> {
  const { memory, ttlMs, logger } = options;
  const { agent, id, session } = invocation;
  const root = `${sessionNamespace(session.id)}/a2a/${keySegment(agent)}/${keySegment(id)}`;
  const common = { ttlMs, tags: [agent.slice(0, 200), id.slice(0, 200)] };
  const hasMore = content.artifacts.some(
    ({ name, parts }) =>
      name !== undefined || parts.some(({ raw, url }) => raw !== undefined || url !== undefined),
  );
  try {
    const keys = { result: `${root}/result` };
    await memory.save(keys.result, content.text, { ...common, category: 'a2a-result' });
    const dataKey = `${root}/data`;
    if (content.data.length > 0) {
      const value = JSON.stringify(content.data.length === 1 ? content.data[0] : content.data);
      await memory.save(dataKey, value, { ...common, category: 'a2a-result-data' });
    }
    const artifactsKey = `${root}/artifacts`;
    if (hasMore) {
      const value = JSON.stringify(content.artifacts);
      await memory.save(artifactsKey, value, { ...common, category: 'a2a-result-artifacts' });
    }
    return {
      ...keys,
      ...(content.data.length > 0 && { data: dataKey }),
      ...(hasMore && { artifacts: artifactsKey }),
    };
  } catch (error) {
    logger.warn({ invocation: id, agent, error }, 'peers.result.save_failed');
    return undefined;
  }
}
