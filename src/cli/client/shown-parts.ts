import { isJsonObject, type Part } from '../../protocol/index.ts';

/** Something that an assistant offers to choose. */
export interface ShownButton {
  readonly title: string;
  /** What is sent for it. */
  readonly payload: string;
}

/**
 * The parts of a message that a person reads: without the state that assistants send along for orchestrators
 * (state, flow and slots as data), and without texts that were shown while they streamed.
 */
export function shownParts(
  parts: readonly Part[],
  streamed: ReadonlySet<string> = new Set(),
): readonly Part[] {
  const shown = parts.filter((part) => !isConversationState(part) && !isStreamed(part, streamed));
  // A message that is nothing but data has been sent for its data.
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
