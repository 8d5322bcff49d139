import { z } from 'zod';
import { errorMessage, Json, type JsonValue } from '../protocol/index.ts';
import type { Delivery, DeliveryRecord, PushRegistration } from './sub-stores.ts';
import { StoredFormat } from './stored-format.ts';

/** A row by the names of its columns, which are the same in every database. */
type Row = Readonly<Record<string, unknown>>;

const authentication = z.object({
  scheme: z.string(),
  credentials: z.string().exactOptional(),
});

const config = new StoredFormat<PushRegistration['config']>({
  name: 'push configuration',
  schema: z.looseObject({
    id: z.string(),
    tenant: z.string().exactOptional(),
    taskId: z.string().exactOptional(),
    url: z.string(),
    token: z.string().exactOptional(),
    authentication: authentication.exactOptional(),
  }),
});

/** Id, body and wire version. */
export function registrationValues(registration: PushRegistration): [string, string, string] {
  const { id } = registration.config;
  return [id, config.encode(registration.config).text, registration.wireVersion];
}

export function toRegistration(row: Row): PushRegistration {
  const body = Json.fromText<JsonValue>(String(row['body'])).value;
  return {
    config: config.decode(body, String(row['config_id'])),
    wireVersion: row['wire_version'] === '0.3' ? '0.3' : '1.0',
  };
}

/** A configuration that can't be decoded must not fail the claims and lists of all others. */
export function toDelivery(row: Row): Delivery {
  return {
    id: Number(row['id']),
    taskId: String(row['task_id']),
    sequence: Number(row['sequence']),
    attempts: Number(row['attempts']),
    ...readRegistration(row),
  };
}

function readRegistration(row: Row): Pick<Delivery, 'push' | 'unreadable'> {
  try {
    return { push: toRegistration(row) };
  } catch (error) {
    return {
      push: { config: { id: String(row['config_id']), url: '' }, wireVersion: '1.0' },
      unreadable: errorMessage(error),
    };
  }
}

export function toDeliveryRecord(row: Row): DeliveryRecord {
  const error = row['last_error'];
  return {
    ...toDelivery(row),
    // SQLite has no booleans.
    state: row['is_dead'] === true || row['is_dead'] === 1 ? 'dead' : 'pending',
    nextAttemptAt: Number(row['due_at']),
    ...(typeof error === 'string' && { lastError: error }),
  };
}
