import type { JsonObject, JsonValue } from '../../protocol/index.ts';

/** What `loop` tells inside a loop. */
export function loopState(at: number, items: readonly JsonValue[]): JsonObject {
  return {
    index: at + 1,
    index0: at,
    revindex: items.length - at,
    revindex0: items.length - at - 1,
    first: at === 0,
    last: at === items.length - 1,
    length: items.length,
    ...(at > 0 && { previtem: items[at - 1] as JsonValue }),
    ...(at < items.length - 1 && { nextitem: items[at + 1] as JsonValue }),
  };
}
