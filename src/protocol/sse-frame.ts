/** One event of a stream, before encoding. */
export interface SseFrame {
  /** The number to resume from. An id with a line break is rejected: it would inject other fields. */
  readonly id?: string | number;
  readonly event?: string;
  /** Normally one line of JSON. */
  readonly data: string;
}

/**
 * Encodes one server-sent event. Data without line breaks is one `data:` line, because simple readers
 * don't join several. Data with line breaks is split, as the format requires.
 */
export function sseFrame({ id, event, data }: SseFrame): string {
  let head = '';
  if (event !== undefined) head += `event: ${oneLine(event)}\n`;
  if (id !== undefined) head += `id: ${typeof id === 'number' ? id : oneLine(id)}\n`;
  if (!data.includes('\n') && !data.includes('\r')) return `${head}data: ${data}\n\n`;
  const lines = data.split(/\r\n|\n|\r/).map((line) => `data: ${line}\n`);
  return `${head}${lines.join('')}\n`;
}

/** A comment: keeps a connection alive; readers ignore it. */
export function sseComment(text: string): string {
  return `: ${oneLine(text)}\n\n`;
}

function oneLine(value: string): string {
  if (/[\r\n\0]/.test(value)) throw new TypeError('an SSE field must be one line');
  return value;
}
