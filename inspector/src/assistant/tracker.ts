import { useEffect } from 'preact/hooks';
import type { ConversationView } from '../../../src/http/inspector/model.ts';
import { get, path } from '../api/api.ts';
import { onNotice, watchContext } from '../api/live.ts';
import { type Loaded, useLoaded } from '../api/loaded.ts';

/** The tracker of a conversation, as it is now and after every change. */
export function useTracker(
  assistant: string,
  contextId: string | undefined,
  subject?: string,
): Loaded<ConversationView | undefined> {
  const query = subject === undefined ? '' : `?subject=${encodeURIComponent(subject)}`;
  const loaded = useLoaded<ConversationView | undefined>(
    async (signal) =>
      contextId === undefined
        ? undefined
        : get(path`assistants/${assistant}/conversations/${contextId}` + query, signal),
    [assistant, contextId, subject],
  );
  const { reload } = loaded;
  useEffect(() => {
    if (contextId === undefined) return undefined;
    const leave = watchContext(contextId);
    const stop = onNotice(({ tasks = [], contexts = [] }) => {
      const isOurs = tasks.some((task) => task.contextId === contextId);
      if (isOurs || contexts.includes(contextId)) reload();
    });
    return () => {
      stop();
      leave();
    };
  }, [contextId]);
  return loaded;
}
