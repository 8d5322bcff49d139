import { LegateError, type SendMessageRequest } from '../protocol/index.ts';
import type { CancelOnAbort, InFlightMessage } from './cancel-on-abort.ts';
import { singleFrame } from './events.ts';
import type { Peer } from './peer.ts';
import { withRetry } from './retry.ts';
import type { Followed, Opened } from './stream.ts';
import type { TransportCall, TransportStream } from './transport.ts';

/** Sends a message and follows its task. */
export function sending(
  peer: Peer,
  request: SendMessageRequest,
  cancelOnAbort: CancelOnAbort,
): Followed {
  const send = async (
    call: TransportStream,
    inFlight: InFlightMessage | undefined,
  ): Promise<Opened> => {
    if (!peer.streams) return sendUnstreamed(peer, request, call, inFlight);
    try {
      return { frames: await peer.sendStreaming(request, call, inFlight), canSubscribe: true };
    } catch (error) {
      // The card is wrong about streaming; the peer rejected the message, so resending is safe.
      if (isRefusal(error)) return sendUnstreamed(peer, request, call, inFlight);
      throw error;
    }
  };
  return {
    ...reaching(peer),
    open: async (call, context) => {
      const inFlight = cancelOnAbort.watch(peer, request.message, context);
      try {
        return await send(call, inFlight);
      } catch (error) {
        // Between two attempts no connection sees the abort.
        inFlight?.checkAbort();
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

/** As `subscribing`, but returns a task that has ended instead of an error. */
export function awaiting(peer: Peer, taskId: string): Followed {
  const followed = subscribing(peer, taskId);
  return {
    ...followed,
    open: async (call, context) => {
      try {
        return await followed.open(call, context);
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
  inFlight: InFlightMessage | undefined,
): Promise<Opened> {
  // A follow-up blocks: the state returned immediately might still show the question.
  const { returnImmediately = request.message.taskId === undefined } = request.configuration ?? {};
  const configuration = { ...request.configuration, returnImmediately };
  const response = await peer.send({ ...request, configuration }, call, inFlight);
  return { frames: singleFrame(response), canSubscribe: false };
}

async function fetchAsStream(peer: Peer, taskId: string, call: TransportCall): Promise<Opened> {
  const task = await peer.getTask(taskId, call);
  return { frames: singleFrame({ task }), canSubscribe: false };
}

/** Whether the peer doesn't support the operation. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof LegateError &&
    (error.code === 'UNSUPPORTED_OPERATION' || error.code === 'METHOD_NOT_FOUND')
  );
}
