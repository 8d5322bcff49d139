import { isJsonObject, type Part } from '../../../src/protocol/index.ts';

/** A clickable answer. */
export interface Choice {
  readonly title: string;
  readonly payload: string;
}

/** The buttons and quick replies that an assistant offers with a part. */
export function choicesOf(part: Part): readonly Choice[] {
  const carrier: unknown = part.text === undefined ? part.data : part.metadata;
  const extras = isJsonObject(carrier) ? carrier['message'] : undefined;
  if (!isJsonObject(extras)) return [];
  return [...choices(extras['buttons']), ...choices(extras['quickReplies'])];
}

function choices(list: unknown): readonly Choice[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    if (!isJsonObject(entry) || typeof entry['title'] !== 'string') return [];
    const { title, payload } = entry;
    return [{ title, payload: typeof payload === 'string' ? payload : title }];
  });
}
