import type { EndKind } from '../../agents/index.ts';
import { data, type JsonObject, type JsonValue, type Part, text } from '../../protocol/index.ts';
import type { TurnOutcome } from '../turn-result.ts';
import type { BotMessage } from '../bot-message.ts';

/**
 * The parts that an orchestrator receives: the state of the conversation as data, then the messages to
 * the user. The stack, prompts and the tracker stay internal.
 */
export function partsOf(
  kind: EndKind,
  outcome: TurnOutcome,
  messages: readonly BotMessage[],
): readonly Part[] {
  return [data(stateData(kind, outcome)), ...messages.map(messagePart)];
}

function stateData(kind: EndKind, outcome: TurnOutcome): JsonObject {
  return {
    state: kind.replace('-', '_'),
    active_flow: outcome.activeFlow ?? null,
    slots: outcome.slots,
    ...(kind === 'completed' && { persisted_slots: outcome.persistedSlots }),
    ...(kind === 'rejected' && { reason: outcome.cannotHandle ?? 'default' }),
    ...(kind === 'failed' && {
      error_type: outcome.error?.type ?? 'internal',
      error_info: outcome.error?.info ?? {},
    }),
    ...(kind === 'canceled' && {
      canceled_flows: outcome.cancelledFlows.map(({ flowId }) => flowId),
    }),
  };
}

/** Everything of a message besides its text; channels that can show it find it in the metadata. */
export function messagePart(message: BotMessage): Part {
  const { text: words, metadata: about, ...rest } = message;
  // The rest of the metadata is internal.
  const streamed = about?.['streamed'] === true && { metadata: { streamed: true } };
  const extras = { ...rest, ...streamed } as { readonly [key: string]: JsonValue };
  const metadata = Object.keys(extras).length === 0 ? undefined : { message: extras };
  if (words === undefined) return data({ message: extras });
  return metadata === undefined ? text(words) : text(words, { metadata });
}
