import { toBase64 } from '../../construct.ts';
import type { Part } from '../../model.ts';
import { type FileBytes, legacyData } from '../v03/shape.ts';

export function encodePart(part: Part, fileBytes: FileBytes): object {
  if (part.data !== undefined) {
    const { data, ...metadata } = legacyData(part);
    return { data: { data }, ...metadata };
  }
  const encoded =
    part.text === undefined ? { file: encodeFile(part, fileBytes) } : { text: part.text };
  return part.metadata === undefined ? encoded : { ...encoded, metadata: part.metadata };
}

function encodeFile({ raw, url = '', mediaType, filename }: Part, fileBytes: FileBytes): object {
  const bytes =
    raw === undefined || fileBytes === 'once' ? raw : toBase64(new TextEncoder().encode(raw));
  return {
    ...(bytes === undefined ? { fileWithUri: url } : { fileWithBytes: bytes }),
    ...(mediaType !== undefined && { mimeType: mediaType }),
    ...(filename !== undefined && { name: filename }),
  };
}
