import type { Part } from '../../model.ts';
import { legacyData } from '../v03/part.ts';

export function encodePart(part: Part): object {
  if (part.data !== undefined) {
    const { data, ...metadata } = legacyData(part);
    return { data: { data }, ...metadata };
  }
  const encoded = part.text === undefined ? { file: encodeFile(part) } : { text: part.text };
  return part.metadata === undefined ? encoded : { ...encoded, metadata: part.metadata };
}

function encodeFile({ raw, url = '', mediaType, filename }: Part): object {
  return {
    ...(raw === undefined ? { fileWithUri: url } : { fileWithBytes: raw }),
    ...(mediaType !== undefined && { mimeType: mediaType }),
    ...(filename !== undefined && { name: filename }),
  };
}
