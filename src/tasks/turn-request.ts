import { z } from 'zod';
import { type Json, type JsonObject, type JsonValue, type Message } from '../protocol/index.ts';
import { StoredFormat, type TurnRecord } from '../store/index.ts';

/** A message was validated when it was admitted; here it is only told from something else. */
const message = z.custom<Message>(
  (value) =>
    z.object({ messageId: z.string(), parts: z.array(z.unknown()) }).safeParse(value).success,
  'is not a message',
);

/** Absent values are left out when they are stored. */
const schema = z.object({
  caller: z.object({
    tenant: z.string(),
    subject: z.string(),
    method: z.string(),
    displayName: z.string().exactOptional(),
    scopes: z.array(z.string()).readonly().exactOptional(),
  }),
  metadata: z.custom<JsonObject>((value) => typeof value === 'object').optional(),
  acceptedOutputModes: z.array(z.string()).readonly(),
  extensions: z.array(z.string()).readonly(),
  traceparent: z.string().optional(),
  tracestate: z.string().optional(),
  /** A follow-up to an existing task; a first message stands in the task's first event. */
  message: message.exactOptional(),
  /** The turn abandons the task instead of answering a message. */
  cancel: z.literal(true).exactOptional(),
});

/** The request as the runner of its turn needs it: what the message itself does not say. */
export type TurnRequest = Readonly<z.infer<typeof schema>>;

const format = new StoredFormat<TurnRequest>({ name: 'the request of turn', schema });

export function encodeTurnRequest(request: TurnRequest): Json<JsonValue> {
  return format.encode(request);
}

export function decodeTurnRequest({ id, request }: TurnRecord): TurnRequest {
  return format.decode(request.value, String(id));
}
