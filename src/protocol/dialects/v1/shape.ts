import type { Reader, Wire } from '../../decode/reader.ts';
import { enumName, optionalString, requiredBase64 } from '../../decode/scalars.ts';
import type { Mutable, Shape } from '../../decode/shape.ts';
import { jsonValue, optionalStruct } from '../../decode/values.ts';
import { type Part, roles, taskStates } from '../../model.ts';

export const shape: Shape = {
  readPart,
  role: (value) => enumName(value, roles),
  state: (value) => enumName(value, taskStates),
  // 1.x has no kinds: a field of that name is unknown and ignored.
  expectKind: () => undefined,
  hasProtoNames: false,
  takesProtoJson: false,
  zonelessTimes: false,
};

function readPart(reader: Reader, wire: Wire): Part {
  const part: Mutable<Part> = readContent(reader, wire);
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) part.metadata = metadata;
  const filename = optionalString(reader, wire.filename, 'filename');
  if (filename !== undefined) part.filename = filename;
  const mediaType = optionalString(reader, wire.mediaType ?? wire.media_type, 'mediaType');
  if (mediaType !== undefined) part.mediaType = mediaType;
  return part;
}

function readContent(reader: Reader, wire: Wire): Part {
  const { data } = wire;
  const text = wire.text ?? undefined;
  const raw = wire.raw ?? undefined;
  const url = wire.url ?? undefined;
  // Only `data` can have the value null.
  const members =
    Number(text !== undefined) +
    Number(raw !== undefined) +
    Number(url !== undefined) +
    Number(data !== undefined);
  if (members !== 1) {
    const fault = members === 0 ? 'none' : 'several';
    reader.fail('', `must have exactly one of text, raw, url and data, and has ${fault}`);
    return { text: '' };
  }
  if (text !== undefined) {
    if (typeof text === 'string') return { text };
    reader.fail('text', 'must be a string');
    return { text: '' };
  }
  if (raw !== undefined) return { raw: requiredBase64(reader, raw, 'raw') };
  if (url !== undefined) {
    if (typeof url === 'string' && url !== '') return { url };
    reader.fail('url', url === '' ? 'must not be empty' : 'must be a string');
    return { url: '' };
  }
  return { data: jsonValue(reader, data, 'data') ?? null };
}
