import { invalidConfiguration, type JsonObject, type JsonValue } from '../protocol/index.ts';
import type { McpConnection, McpToolInfo } from './connection.ts';

export interface McpSelection {
  /** Only these tools. @default all */
  readonly include?: readonly string[] | undefined;
  /** Tools to leave out, even if `include` names them. @default none */
  readonly exclude?: readonly string[] | undefined;
}

/** Selects tools of a server. Throws if the server does not have an included tool. */
export async function selectTools(
  connection: McpConnection,
  { include, exclude }: McpSelection,
  options: { readonly signal?: AbortSignal } = {},
): Promise<readonly McpToolInfo[]> {
  const tools = await connection.tools(options);
  const isKept = ({ name }: McpToolInfo): boolean => exclude?.includes(name) !== true;
  if (include === undefined) return tools.filter(isKept);
  const missing = include.filter((name) => !tools.some((each) => each.name === name));
  if (missing.length > 0) {
    const there = tools.map(({ name }) => name).join(', ');
    throw invalidConfiguration(
      `MCP server "${connection.name}" has no tool named ${missing.join(', ')}; it has ${there}`,
    );
  }
  return tools.filter((tool) => include.includes(tool.name) && isKept(tool));
}

/** The `_meta` of calls: constants, and values of slots. */
export interface MetaMap {
  readonly static?: JsonObject;
  readonly fromSlots?: readonly { readonly slot: string; readonly param: string }[];
}

/** The `_meta` of a call. Slots without a value are left out. */
export function metaOf(map: MetaMap, slot: (name: string) => JsonValue | undefined): JsonObject {
  const values = (map.fromSlots ?? []).flatMap(({ slot: name, param }) => {
    const value = slot(name);
    return value === undefined || value === null ? [] : [[param, value] as const];
  });
  return { ...map.static, ...Object.fromEntries(values) };
}
