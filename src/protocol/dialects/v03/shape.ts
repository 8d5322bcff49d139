import { isObject, type Reader, requiredObject, type Wire } from '../../decode/reader.ts';
import { isUnset, optionalString, requiredBase64 } from '../../decode/scalars.ts';
import type { Kind, Mutable, Shape } from '../../decode/shape.ts';
import { jsonValue, optionalStruct } from '../../decode/values.ts';
import type { JsonObject, JsonValue, Part } from '../../model.ts';
import { roleOf, stateOf } from './names.ts';

/** Many peers omit `kind`, so only a wrong one is a violation. */
function expectKind(reader: Reader, wire: Wire, kind: Kind): void {
  if (!isUnset(wire.kind) && wire.kind !== kind) reader.fail('kind', `must be ${kind}`);
}

export const shape: Shape = {
  readPart: (reader, wire) => readPart(reader, wire, { isProto: false, fileBytes: 'once' }),
  role: roleOf,
  state: stateOf,
  expectKind,
  hasProtoNames: true,
  takesProtoJson: false,
  zonelessTimes: true,
};

/** The same, for bodies that can be ProtoJSON. */
export function restShape(fileBytes: FileBytes): Shape {
  return {
    ...shape,
    takesProtoJson: true,
    readPart: (reader, wire) => readPart(reader, wire, { isProto: true, fileBytes }),
  };
}

/**
 * Metadata that marks a data part whose value is not an object. 0.3 allows only objects, so the value is
 * wrapped as `{ value }`.
 */
const wrappedMark = 'data_part_compat';

/** The spelling of parts in one form of 0.3. */
export interface PartForm {
  /** Without a `kind`, data is wrapped in another object, as in the 0.3 proto. */
  readonly isProto: boolean;
  readonly fileBytes: FileBytes;
}

/**
 * How often the bytes of a file are encoded in base64 over HTTP+JSON and gRPC of 0.3: once, as in the
 * specification, or twice, as in a2a-sdk for Python 0.3, and in a2a-go 0.3 over gRPC. The receiver cannot
 * detect it: a file can itself be base64 text.
 */
export type FileBytes = 'once' | 'twice';

export function readPart(reader: Reader, wire: Wire, form: PartForm): Part {
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  const part = readContent(reader, wire, form);
  if (metadata === undefined) return part;
  const { data } = part;
  if (metadata[wrappedMark] === true && isObject(data) && Object.hasOwn(data, 'value')) {
    const { [wrappedMark]: _, ...rest } = metadata;
    const value = data.value ?? null;
    return Object.keys(rest).length === 0 ? { data: value } : { data: value, metadata: rest };
  }
  return { ...part, metadata };
}

function readContent(reader: Reader, wire: Wire, { isProto, fileBytes }: PartForm): Part {
  const kinds = ['text', 'file', 'data'] as const;
  const set = kinds.filter((name) => !isUnset(wire[name]));
  const kind = set[0];
  if (kind === undefined || set.length > 1 || (!isUnset(wire.kind) && wire.kind !== kind)) {
    reader.fail('', 'must have exactly one of text, file and data, and a kind of that name');
    return { text: '' };
  }
  switch (kind) {
    case 'text':
      if (typeof wire.text === 'string') return { text: wire.text };
      reader.fail('text', 'must be a string');
      return { text: '' };
    case 'file':
      return requiredObject(reader, wire.file, 'file', (inner, file) =>
        readFile(inner, file, fileBytes),
      );
    case 'data':
      return { data: readData(reader, wire.data, isProto && isUnset(wire.kind)) };
  }
}

/** Peers use three spellings of the content: the schema's, the proto's, and that of an old example. */
function readFile(reader: Reader, wire: Wire, fileBytes: FileBytes): Part {
  const bytes = wire.bytes ?? wire.fileWithBytes ?? wire.file_with_bytes ?? wire.data ?? undefined;
  const uri = wire.uri ?? wire.fileWithUri ?? wire.file_with_uri ?? undefined;
  if ((bytes === undefined) === (uri === undefined)) {
    reader.fail('', 'must have exactly one of bytes and uri');
    return { text: '' };
  }
  let part: Mutable<Part>;
  if (bytes !== undefined) {
    const once = requiredBase64(reader, bytes, 'bytes');
    part = {
      raw: fileBytes === 'once' ? once : requiredBase64(reader, atob(once), 'bytes'),
    };
  } else {
    const isUri = typeof uri === 'string' && uri !== '';
    if (!isUri) reader.fail('uri', 'must be a string, not empty');
    part = { url: isUri ? uri : '' };
  }
  const filename = optionalString(reader, wire.name, 'name');
  if (filename !== undefined) part.filename = filename;
  const mediaType = optionalString(reader, wire.mimeType ?? wire.mime_type, 'mimeType');
  if (mediaType !== undefined) part.mediaType = mediaType;
  return part;
}

function readData(reader: Reader, value: unknown, isNested: boolean): JsonValue {
  const nested = isNested && isObject(value) && isObject(value.data) ? value.data : value;
  if (!isObject(nested)) {
    reader.fail('data', 'must be an object');
    return null;
  }
  return jsonValue(reader, nested, 'data') ?? null;
}

/** Data as an object, which 0.3 requires, with the metadata that marks a wrapped value. */
export function legacyData(part: Part): {
  readonly data: JsonObject;
  readonly metadata?: JsonObject;
} {
  const { data = null, metadata } = part;
  if (isObject(data)) {
    return metadata === undefined ? { data: data } : { data: data, metadata };
  }
  return { data: { value: data }, metadata: { ...metadata, [wrappedMark]: true } };
}

export function encodePart(part: Part): object {
  if (part.data !== undefined) return { kind: 'data', ...legacyData(part) };
  const { metadata } = part;
  const encoded = part.text === undefined ? encodeFile(part) : { kind: 'text', text: part.text };
  return metadata === undefined ? encoded : { ...encoded, metadata };
}

function encodeFile(part: Part): object {
  const file: { bytes?: string; uri?: string; name?: string; mimeType?: string } = {};
  if (part.raw !== undefined) file.bytes = part.raw;
  else file.uri = part.url ?? '';
  if (part.filename !== undefined) file.name = part.filename;
  if (part.mediaType !== undefined) file.mimeType = part.mediaType;
  return { kind: 'file', file };
}
