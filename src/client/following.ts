import { LegateError, type SendMessageRequest } from '../protocol/index.ts';
import { singleFrame } from './events.ts';
import type { Peer } from './peer.ts';
import { withRetry } from './retry.ts';
import type { Followed, Opened } from './stream.ts';
import type { TransportCall } from './transport.ts';

/** Sends a message and follows what comes of it. */
export function sending(peer: Peer, request: SendMessageRequest): Followed {
  return {
    ...reaching(peer),
    open: async (call) => {
      if (!peer.streams) return sendUnstreamed(peer, request, call);
      try {
        return { frames: await peer.sendStreaming(request, call), canSubscribe: true };
      } catch (error) {
        // The card promised too much; the message was not taken, so sending it plainly is safe.
        if (isRefusal(error)) return sendUnstreamed(peer, request, call);
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
    open: async (call) => {
      try {
        return await followed.open(call);
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
): Promise<Opened> {
  // A follow-up is sent blocking: the state returned at once might still be that of the question.
  const { returnImmediately = request.message.taskId === undefined } = request.configuration ?? {};
  const configuration = { ...request.configuration, returnImmediately };
  const response = await peer.send({ ...request, configuration }, call);
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
