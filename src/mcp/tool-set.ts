import { invalidConfiguration, type JsonObject, type JsonValue } from '../protocol/index.ts';
import type { McpConnection, McpToolInfo } from './connection.ts';

export interface McpSelection {
  /** Only these tools. Not together with `exclude`. */
  readonly include?: readonly string[] | undefined;
  /** All but these tools. */
  readonly exclude?: readonly string[] | undefined;
}

/** Some of a server's tools. A name that is included and not there is an error worth knowing. */
export async function selectTools(
  connection: McpConnection,
  { include, exclude }: McpSelection,
  options: { readonly signal?: AbortSignal } = {},
): Promise<readonly McpToolInfo[]> {
  if (include !== undefined && exclude !== undefined) {
    throw invalidConfiguration(
      `MCP server "${connection.name}": include_tools and exclude_tools cannot both be given`,
    );
  }
  const tools = await connection.tools(options);
  if (include === undefined) return tools.filter(({ name }) => exclude?.includes(name) !== true);
  const missing = include.filter((name) => !tools.some((each) => each.name === name));
  if (missing.length > 0) {
    const there = tools.map(({ name }) => name).join(', ');
    throw invalidConfiguration(
      `MCP server "${connection.name}" has no tool named ${missing.join(', ')}; it has ${there}`,
    );
  }
  return tools.filter(({ name }) => include.includes(name));
}

/** What goes into `_meta` of each call: constants, and values that slots hold. */
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
