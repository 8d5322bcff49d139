/** PostgreSQL takes payloads below 8,000 bytes. */
const payloadLimit = 7_000;

/** What a store tells the others: who it is, and which tasks have changed. None: a mere greeting. */
export interface Notice {
  readonly origin: string;
  readonly changes: readonly (readonly [taskId: string, version: number])[];
}

/** `[origin, [taskId, version], ...]`, in as many payloads as it takes; at least one. */
export function toPayloads(origin: string, changes: ReadonlyMap<string, number>): string[] {
  const start = `[${JSON.stringify(origin)}`;
  const payloads: string[] = [];
  let payload = start;
  for (const change of changes) {
    const text = `,${JSON.stringify(change)}`;
    if (payload !== start && Buffer.byteLength(payload) + Buffer.byteLength(text) > payloadLimit) {
      payloads.push(`${payload}]`);
      payload = start;
    }
    payload += text;
  }
  return [...payloads, `${payload}]`];
}

/** Undefined for foreign notifications: every client of the database may notify. */
export function fromPayload(payload: string): Notice | undefined {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const [origin, ...changes] = value as unknown[];
  return typeof origin === 'string' && changes.every(isChange) ? { origin, changes } : undefined;
}

function isChange(value: unknown): value is readonly [string, number] {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'number';
}
