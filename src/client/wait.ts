import { isInterrupted, LegateError, type SendMessageResponse } from '../protocol/index.ts';
import type { Delivery } from './delivery.ts';
import type { StreamEvent } from './transport.ts';

/**
 * Takes events until the task is terminal or waits for its caller, and returns what came of it.
 * `answers`: the events follow upon a message that continues a task, whose opening snapshot may
 * still show the question that the message answers.
 */
export async function settled(
  events: AsyncIterable<StreamEvent>,
  delivery: Delivery,
  answers = false,
): Promise<SendMessageResponse> {
  let isFirst = true;
  for await (const { response } of events) {
    const isOldQuestion = isFirst && answers && 'task' in response;
    isFirst = false;
    const { state } = delivery;
    // A terminal task is read to the close of its stream: that leaves the connection in good order.
    if (state !== undefined && isInterrupted(state) && !isOldQuestion) break;
  }
  const { result } = delivery;
  if (result !== undefined) return result;
  throw new LegateError('PEER_INVALID', 'the peer answered with neither a task nor a message');
}
