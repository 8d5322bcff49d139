import { LegateError, type SendMessageRequest } from '../protocol/index.ts';
import { singleFrame } from './events.ts';
import type { Peer } from './peer.ts';
import type { Recall } from './recall.ts';
import type { Recalls } from './recalls.ts';
import { withRetry } from './retry.ts';
import type { Followed, Opened } from './stream.ts';
import type { TransportCall, TransportStream } from './transport.ts';

/** Sends a message and follows what comes of it. */
export function sending(peer: Peer, request: SendMessageRequest, recalls: Recalls): Followed {
  const send = async (call: TransportStream, recall: Recall | undefined): Promise<Opened> => {
    if (!peer.streams) return sendUnstreamed(peer, request, call, recall);
    try {
      return { frames: await peer.sendStreaming(request, call, recall), canSubscribe: true };
    } catch (error) {
      // The card promised too much; the message was not taken, so sending it plainly is safe.
      if (isRefusal(error)) return sendUnstreamed(peer, request, call, recall);
      throw error;
    }
  };
  return {
    ...reaching(peer),
    open: async (call, watch) => {
      const recall = recalls.watch(peer, request.message, watch);
      try {
        return await send(call, recall);
      } catch (error) {
        // Between two attempts there is no connection that would notice.
        recall?.leave();
        throw error;
      }
    },
  };
}

/** Follows an existing task. */
export function subscribing(peer: Peer, taskId: string): Followed {
  return {
    ...reaching(peer),
    taskId,
    open: async (call) => {
      if (!peer.streams) return fetchAsStream(peer, taskId, call);
      const subscribe = () => peer.subscribe(taskId, call);
      const frames = await withRetry(peer.settings, call.signal, subscribe);
      return { frames, canSubscribe: true };
    },
  };
}

/** As subscribing, but a task that is over is no error. */
export function awaiting(peer: Peer, taskId: string): Followed {
  const followed = subscribing(peer, taskId);
  return {
    ...followed,
    open: async (call, watch) => {
      try {
        return await followed.open(call, watch);
      } catch (error) {
        if (isRefusal(error)) return fetchAsStream(peer, taskId, call);
        throw error;
      }
    },
  };
}

function reaching(peer: Peer): Pick<Followed, 'subscribe' | 'getTask'> {
  return {
    subscribe: (taskId, call) => peer.subscribe(taskId, call),
    getTask: (taskId, call) => peer.getTask(taskId, call),
  };
}

async function sendUnstreamed(
  peer: Peer,
  request: SendMessageRequest,
  call: TransportCall,
  recall: Recall | undefined,
): Promise<Opened> {
  // A follow-up is sent blocking: the state returned at once might still be that of the question.
  const { returnImmediately = request.message.taskId === undefined } = request.configuration ?? {};
  const configuration = { ...request.configuration, returnImmediately };
  const response = await peer.send({ ...request, configuration }, call, recall);
  return { frames: singleFrame(response), canSubscribe: false };
}

async function fetchAsStream(peer: Peer, taskId: string, call: TransportCall): Promise<Opened> {
  const task = await peer.getTask(taskId, call);
  return { frames: singleFrame({ task }), canSubscribe: false };
}

/** The peer understood, and does not do such a thing. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof LegateError &&
    (error.code === 'UNSUPPORTED_OPERATION' || error.code === 'METHOD_NOT_FOUND')
  );
}
