import type {
  AgentCard,
  Artifact,
  Message,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../../protocol/index.ts';

/** A card with one interface. */
export function agentCard(options: {
  url: string;
  binding?: string;
  version?: string;
  streaming?: boolean;
  tenant?: string;
}): AgentCard {
  const { url, binding = 'JSONRPC', version = '1.0', streaming = true, tenant } = options;
  return {
    name: 'Scripted',
    description: 'Does as it is told',
    version: '1.0.0',
    supportedInterfaces: [
      {
        url,
        protocolBinding: binding,
        protocolVersion: version,
        ...(tenant !== undefined && { tenant }),
      },
    ],
    capabilities: { streaming },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
}

const place = { taskId: 'task-1', contextId: 'context-1' };

export function task(state: TaskState, more: Partial<Task> = {}): Task {
  return { id: place.taskId, contextId: place.contextId, status: { state }, ...more };
}

export function agentMessage(messageId: string, text = messageId): Message {
  return { messageId, role: 'ROLE_AGENT', parts: [{ text }], ...place };
}

/** A status update; with a message where an id is given. */
export function status(state: TaskState, messageId?: string): StreamResponse {
  const status: TaskStatus =
    messageId === undefined ? { state } : { state, message: agentMessage(messageId) };
  return { statusUpdate: { ...place, status } };
}

export function artifactOf(artifactId: string, ...texts: string[]): Artifact {
  return { artifactId, parts: texts.map((text) => ({ text })) };
}

/** A chunk of an artifact. */
export function chunk(artifactId: string, text: string, append: boolean): StreamResponse {
  return { artifactUpdate: { ...place, artifact: artifactOf(artifactId, text), append } };
}
