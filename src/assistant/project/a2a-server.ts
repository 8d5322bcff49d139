import type { Section } from '../../config/index.ts';
import { readServerSection } from '../../http/index.ts';

/** Reads `a2a_server:` of an assistant, with defaults. */
export function readA2aServer(section: Section) {
  const server = readServerSection(section);
  const { taskTimeoutSeconds = 600, messageCacheTtlSeconds = taskTimeoutSeconds } = server;
  const settings = {
    ...server,
    taskTimeoutSeconds,
    messageCacheTtlSeconds,
    maxContexts: server.maxContexts ?? 1000,
    pushNotificationsEnabled: server.pushNotificationsEnabled ?? false,
    description: section.require('description', 'say what the agent is for')?.name() ?? '',
    agentCardPath: section.name('agent_card_path'),
    includeConversationRepair: section.boolean('include_conversation_repair') ?? true,
    /** How to handle a turn whose process died. */
    onInterrupted: section.get('on_interrupted')?.oneOf(['fail', 'run-again']) ?? 'fail',
  };
  // Some versions of Rasa have further keys.
  section.finishLeniently();
  return settings;
}

/** The configuration of the assistant's A2A server. */
export type A2aServer = ReturnType<typeof readA2aServer>;
