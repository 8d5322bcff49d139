import { data, type Message, text } from '../../../protocol/index.ts';
import { slotValues } from '../agent-input.ts';
import type { AgentInput } from '../model.ts';

/** Internal metadata keys, not sent to the agent. */
const ownKeys: ReadonlySet<string> = new Set(['last_message', 'artifacts', 'task_deadline']);

/**
 * The input as a message: the user's words, then slots and history as data. The whole metadata goes
 * along; `context_id` and `task_id` in it say where the message belongs.
 */
export function toMessage(input: AgentInput): Message {
  const { id, userMessage, conversationHistory, metadata } = input;
  const { context_id: contextId, task_id: taskId } = metadata;
  const slots = Object.fromEntries(
    Object.entries(slotValues(input)).filter(([, value]) => value !== null),
  );
  const shown = Object.fromEntries(Object.entries(metadata).filter(([key]) => !ownKeys.has(key)));
  return {
    messageId: id,
    role: 'ROLE_USER',
    parts: [text(userMessage), data({ slots, conversation_history: conversationHistory })],
    metadata: shown,
    ...(typeof contextId === 'string' && { contextId }),
    ...(typeof taskId === 'string' && { taskId }),
  };
}
