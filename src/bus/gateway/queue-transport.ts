import type { Caller } from '../../agents/index.ts';
import type { RemoteFrame, TaskTransport } from '../../client/index.ts';
import { headerNames, readError, readResult, readUpdate } from '../exchange/payloads.ts';
import { sendCancel, sendTask, type Sender } from '../exchange/sender.ts';
import type { Inbox, ReplyBox } from './reply-box.ts';

export interface QueueTransportOptions {
  readonly sender: Pick<Sender, 'send'>;
  /** The agent's name on the bus. */
  readonly agent: string;
  readonly replies: Pick<ReplyBox, 'topic' | 'open' | 'close'>;
  /** The id of the task here; answers come back with it, and a repeated message is known by it. */
  readonly correlationId: string;
  /** On whose behalf. */
  readonly principal: Caller;
}

/**
 * One task of an agent on the bus. After a restart its message is sent again: the agent's host
 * deduplicates it and tells the task anew, in a series of its own, instead of running it twice.
 */
export function queueTransport(options: QueueTransportOptions): TaskTransport {
  const { sender, agent, replies, correlationId, principal } = options;
  const exchange = { correlationId, replyTo: replies.topic, principal };
  return {
    resume: 'resend',
    isLossy: true,
    async *send(request, { signal }) {
      const inbox = replies.open(correlationId, agent);
      try {
        await sendTask(sender, agent, request, exchange);
        yield* framesOf(inbox, signal);
      } finally {
        replies.close(correlationId, inbox);
      }
    },
    cancel: ({ taskId }) => sendCancel(sender, agent, taskId ?? correlationId, exchange),
  };
}

async function* framesOf(inbox: Inbox, signal: AbortSignal): AsyncGenerator<RemoteFrame> {
  let series: string | undefined;
  let next = 0;
  for (;;) {
    const message = await inbox.next(signal);
    if (message === undefined) throw signal.reason;
    const { type, body, headers } = message;
    if (type === 'error') throw readError(body);
    if (type !== 'update') {
      yield { response: readResult(body), isFinal: true };
      return;
    }
    const own = headers[headerNames.series] ?? '';
    const sequence = Number(headers[headerNames.sequence] ?? 0);
    const isRestart = own !== series;
    if (isRestart) next = 0;
    series = own;
    if (sequence < next) continue;
    yield { response: readUpdate(body), isRestart, isGap: sequence > next };
    next = sequence + 1;
  }
}
