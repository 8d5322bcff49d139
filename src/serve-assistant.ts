import type { AssistantServing, ServeAssistantOptions } from './assistant/index.ts';

export type { AssistantServing, ServeAssistantOptions };

/**
 * Serves a project folder as an assistant: A2A, the REST channel and the HTTP API on one port.
 * Loads the assistant modules with the first call, because other agents don't need them.
 * @example await using bank = await serveAssistant({ places: { directory: 'examples/bank' } });
 */
export async function serveAssistant(options: ServeAssistantOptions): Promise<AssistantServing> {
  const assistants = await import('./assistant/index.ts');
  return assistants.serveAssistant(options);
}
