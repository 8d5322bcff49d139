import { isJsonObject, type Part } from '../../protocol/index.ts';

/** A button of an assistant. */
export interface ShownButton {
  readonly title: string;
  /** The message that it sends. */
  readonly payload: string;
}

/**
 * The parts of a message to show to a person: without the state that assistants attach for orchestrators
 * (state, flow and slots as data), and without texts that were streamed already.
 */
export function shownParts(
  parts: readonly Part[],
  streamed: ReadonlySet<string> = new Set(),
): readonly Part[] {
  const shown = parts.filter((part) => !isConversationState(part) && !isStreamed(part, streamed));
  // A message that contains only data was sent for its data.
  return parts.every(isConversationState) ? parts : shown;
}

function isConversationState({ data }: Part): boolean {
  return isJsonObject(data) && typeof data['state'] === 'string' && isJsonObject(data['slots']);
}

function isStreamed({ text }: Part, streamed: ReadonlySet<string>): boolean {
  return text !== undefined && streamed.has(text.trim());
}

/** The buttons of an assistant's message. */
export function buttonsOf(part: Part): readonly ShownButton[] {
  const carrier = part.text === undefined ? part.data : part.metadata;
  const message = isJsonObject(carrier) ? carrier['message'] : undefined;
  const buttons = isJsonObject(message) ? message['buttons'] : undefined;
  if (!Array.isArray(buttons)) return [];
  return buttons.flatMap((button: unknown) => {
    if (!isJsonObject(button) || typeof button['title'] !== 'string') return [];
    const { title, payload } = button;
    return [{ title, payload: typeof payload === 'string' ? payload : title }];
  });
}
