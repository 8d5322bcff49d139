import { type Task, v03 } from '../protocol/index.ts';
import type { Delivery, LogEvent } from '../store/index.ts';
import type { BodySigner } from './body-signature.ts';
import { traceOf } from './registration.ts';

export interface DeliverySources {
  /** Events with a number greater than `after`, in order. */
  readEvents(taskId: string, after: number, limit: number): Promise<readonly LogEvent[]>;
  /** The task as it was when the event of that number was the last. */
  taskAt(taskId: string, sequence: number): Promise<Task | undefined>;
  readonly signer?: BodySigner;
  /** The `traceparent` to send with a delivery, instead of the one it was registered under. */
  readonly traceparent?: (delivery: Delivery) => string | undefined;
}

export interface DeliveryRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * What is sent for one delivery: the event as a StreamResponse for 1.x, the whole task for 0.3.
 * Undefined when the task is gone.
 */
export async function buildDeliveryRequest(
  delivery: Delivery,
  sources: DeliverySources,
  now: number,
): Promise<DeliveryRequest | undefined> {
  const { config, wireVersion } = delivery.push;
  const body = await readBody(delivery, sources);
  if (body === undefined) return undefined;
  const id = deliveryId(delivery);
  const headers: Record<string, string> = {
    'content-type': wireVersion === '0.3' ? 'application/json' : 'application/a2a+json',
    'user-agent': 'legate',
    'a2a-version': wireVersion,
    // The receiver may have taken the call and lost the answer: a repeat has the same key.
    'idempotency-key': id,
  };
  const { token, authentication } = config;
  if (token !== undefined && token !== '') headers['x-a2a-notification-token'] = token;
  if (authentication?.credentials !== undefined && authentication.credentials !== '') {
    headers['authorization'] = `${authentication.scheme} ${authentication.credentials}`;
  }
  const traceparent = sources.traceparent?.(delivery);
  Object.assign(headers, traceparent === undefined ? traceOf(config) : { traceparent });
  if (sources.signer !== undefined) {
    const facts = { audience: config.url, id, now };
    headers['x-a2a-signature'] = await sources.signer.sign(body, facts);
  }
  return { headers, body };
}

/** The same for every attempt at one delivery, and for no other delivery. */
function deliveryId({ taskId, sequence, push }: Delivery): string {
  return `${encodeURIComponent(taskId)}/${encodeURIComponent(push.config.id)}/${sequence}`;
}

async function readBody(delivery: Delivery, sources: DeliverySources): Promise<string | undefined> {
  const { taskId, sequence, push } = delivery;
  if (push.wireVersion === '0.3') {
    const task = await sources.taskAt(taskId, sequence);
    return task === undefined ? undefined : JSON.stringify(v03.task.encode(task));
  }
  const [event] = await sources.readEvents(taskId, sequence - 1, 1);
  // The log is spelled as the 1.x wire spells it.
  return event?.sequence === sequence ? event.body.text : undefined;
}
