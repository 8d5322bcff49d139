import { LegateError } from './errors.ts';
import type { Artifact, JsonObject, JsonValue, Message, Part, Role } from './model.ts';

type PartOptions = Pick<Part, 'metadata' | 'filename' | 'mediaType'>;

/** A text part. @example text('Hello') */
export function text(value: string, options?: PartOptions): Part {
  return options === undefined ? { text: value } : { text: value, ...options };
}

/** A data part: any JSON value. @example data({ total: 3 }) */
export function data(value: JsonValue, options?: PartOptions): Part {
  return options === undefined ? { data: value } : { data: value, ...options };
}

/**
 * A file part, by its bytes or its URL.
 * @example file({ bytes: new TextEncoder().encode('a,b'), filename: 'a.csv', mediaType: 'text/csv' })
 * @example file({ url: 'https://example.com/a.csv' })
 */
export function file(source: ({ bytes: Uint8Array } | { url: string }) & PartOptions): Part {
  if ('url' in source) return { ...source };
  const { bytes, ...options } = source;
  return { raw: toBase64(bytes), ...options };
}

/** Also works in browsers, which have no `Buffer`. */
export function toBase64(bytes: Uint8Array): string {
  if (typeof Buffer !== 'undefined') {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  }
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/**
 * The fields of a message besides its parts.
 * @example
 * const options: MessageOptions = { contextId: task.contextId, referenceTaskIds: [task.id] };
 * const next = message('The same again, please', options); // a new task beside the one it refers to
 */
export interface MessageOptions {
  /** The sender of the message. @default 'ROLE_USER' */
  role?: Role;
  /** The id by which agents deduplicate messages. @default a new UUID */
  messageId?: string;
  /** The conversation that the message belongs to. */
  contextId?: string;
  /** The task that the message continues. */
  taskId?: string;
  /** Metadata of the message. */
  metadata?: JsonObject;
  /** URIs of the extensions that the message uses. */
  extensions?: readonly string[];
  /** Tasks that the message refers to. */
  referenceTaskIds?: readonly string[];
}

/** A message from parts, or from one text. @example message('Book a table for two') */
export function message(
  content: string | Part | readonly Part[],
  options: MessageOptions = {},
): Message {
  const { role = 'ROLE_USER', messageId = crypto.randomUUID(), ...rest } = options;
  return { messageId, role, parts: toParts(content), ...rest };
}

/** An artifact from parts, or from one text. @example artifact('The report', { name: 'report' }) */
export function artifact(
  content: string | Part | readonly Part[],
  options: Partial<Omit<Artifact, 'parts'>> = {},
): Artifact {
  const { artifactId = crypto.randomUUID(), ...rest } = options;
  return { artifactId, parts: toParts(content), ...rest };
}

/**
 * One text, one part or several parts, as parts.
 * @example toParts('hello') // [{ text: 'hello' }]
 */
export function toParts(content: string | Part | readonly Part[]): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }];
  const parts = isPartList(content) ? content : [content];
  for (const part of parts) if (!isPart(part)) throw notAPart(part);
  return parts;
}

function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  return 'text' in part || 'data' in part || 'url' in part || 'raw' in part;
}

/** JavaScript callers can pass any value. The error names only the members: values can be secret. */
function notAPart(part: unknown): LegateError {
  const given =
    typeof part === 'object' && part !== null
      ? `an object with ${Object.keys(part).slice(0, 5).join(', ') || 'nothing'}`
      : typeof part;
  return new LegateError(
    'INVALID_PARAMS',
    `${given} is not a part; pass text, or parts by text('...'), data(...) and file(...)`,
  );
}

function isPartList(content: Part | readonly Part[]): content is readonly Part[] {
  return Array.isArray(content);
}
