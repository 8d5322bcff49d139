import type { SendMessageRequest } from '../../protocol/index.ts';
import { topics } from '../transport/index.ts';
import type { Parcel, Sender } from './sender.ts';

/** Which exchange a message belongs to, and where its answers go. */
type Exchange = Pick<Parcel, 'correlationId' | 'replyTo' | 'principal' | 'headers'>;

/** Sends a message to an agent; rejects with `PEER_UNREACHABLE` when there is no such agent. */
export function sendTask(
  sender: Pick<Sender, 'send'>,
  agent: string,
  request: SendMessageRequest,
  exchange: Exchange,
): Promise<void> {
  const body = JSON.stringify(request);
  return sender.send(topics.task(agent), { ...exchange, type: 'task', body }, { mandatory: true });
}

/** Asks an agent to stop a task; its id is the correlation id while the agent's own is unknown. */
export function sendCancel(
  sender: Pick<Sender, 'send'>,
  agent: string,
  id: string,
  exchange: Exchange,
): Promise<void> {
  const body = JSON.stringify({ id });
  const parcel: Parcel = { ...exchange, type: 'cancel', body };
  return sender.send(topics.cancel(agent), parcel, { mandatory: true });
}
