import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject, type Part } from '../protocol/index.ts';

/** The result of a tool call. */
export interface McpToolResult {
  readonly isError: boolean;
  /** The whole content, as parts. */
  readonly parts: readonly Part[];
  /** The text blocks, joined by newlines. With `structured`, only the blocks that are for users. */
  readonly text: string;
  /** The structured content, if the tool returned any. */
  readonly structured?: JsonObject;
}

export function toResult(result: CallToolResult): McpToolResult {
  const { content, structuredContent: structured } = result;
  const shown = isJsonObject(structured) ? content.filter(isForUsers) : content;
  return {
    isError: result.isError === true,
    parts: content.map(toPart),
    text: shown.flatMap((block) => toPart(block).text ?? []).join('\n'),
    ...(isJsonObject(structured) && { structured }),
  };
}

function isForUsers({ annotations }: ContentBlock): boolean {
  return annotations?.audience?.includes('user') ?? true;
}

function toPart(block: ContentBlock): Part {
  switch (block.type) {
    case 'text':
      return { text: block.text };
    case 'image':
    case 'audio':
      return { raw: block.data, mediaType: block.mimeType };
    case 'resource_link':
      return {
        url: block.uri,
        filename: block.name,
        ...(block.mimeType !== undefined && { mediaType: block.mimeType }),
      };
    case 'resource': {
      const { resource } = block;
      const mediaType = resource.mimeType === undefined ? {} : { mediaType: resource.mimeType };
      return 'text' in resource
        ? { text: resource.text, ...mediaType }
        : { raw: resource.blob, ...mediaType };
    }
  }
}
