import type { Logger } from '../../telemetry/index.ts';
import { keySegment, sessionNamespace, type WorkingMemory } from '../memory/index.ts';
import type { AnswerContent } from './answer-text.ts';
import type { Invocation, InvocationOutcome } from './invocation.ts';

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
