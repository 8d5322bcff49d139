import { Json, type StreamResponse } from '../protocol/index.ts';
import type { LogEvent } from './contract.ts';
import { pack, unpack } from './phrases.ts';

/** One row of a log: the events of one append, one per line, and the number of the last event. */
export interface EventRow {
  readonly sequence: number;
  readonly body: string;
}

/** The ids that nearly every event of a task repeats. The row of the task contains them. */
export interface TaskIds {
  readonly id: string;
  readonly contextId: string;
}

/** Maximum events in a row, so that reading a part of a log reads few other events. */
export const rowLimit = 16;

/**
 * The length of a log from which snapshots are stored. A shorter log is as fast to read as its
 * snapshot.
 */
export const snapshotFrom = 9;

/** JSON text has no control characters, so these can replace the ids of the task. */
const idMark = '\u0001';
const contextMark = '\u0002';

export function toEventRows(ids: TaskIds, events: readonly LogEvent[]): EventRow[] {
  const rows: EventRow[] = [];
  for (let from = 0; from < events.length; from += rowLimit) {
    const part = events.slice(from, from + rowLimit);
    const lines = part.map(({ body }) => toLine(body)).join('\n');
    rows.push({ sequence: part.at(-1)?.sequence ?? 0, body: shorten(ids, lines) });
  }
  return rows;
}

/** The events of consecutive rows. */
export function fromEventRows(ids: TaskIds, rows: readonly EventRow[]): LogEvent[] {
  return rows.flatMap(({ sequence, body }) => {
    const lines = expand(ids, body).split('\n');
    const first = sequence - lines.length + 1;
    return lines.map((line, index) => ({
      sequence: first + index,
      body: Json.fromText<StreamResponse>(line),
    }));
  });
}

/** JSON on one line. */
export function toLine(json: Json<unknown>): string {
  return json.text.includes('\n') ? JSON.stringify(json.value) : json.text;
}

/** The same text without the ids of its task and without phrases. */
export function shorten({ id, contextId }: TaskIds, text: string): string {
  return pack(
    text.replaceAll(JSON.stringify(id), idMark).replaceAll(JSON.stringify(contextId), contextMark),
  );
}

/** Undoes `shorten`. Leaves text unchanged that was stored with its ids. */
export function expand({ id, contextId }: TaskIds, text: string): string {
  return unpack(text)
    .replaceAll(idMark, () => JSON.stringify(id))
    .replaceAll(contextMark, () => JSON.stringify(contextId));
}
