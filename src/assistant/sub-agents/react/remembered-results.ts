import type { JsonObject, JsonValue } from '../../../protocol/index.ts';
import type { StructuredResult } from '../model.ts';

/** Characters of all results that are kept while the user is asked. */
const mostCharacters = 8_000;

/** What tools answered in earlier turns of the run. */
export function rememberedResults(metadata: JsonObject): readonly JsonObject[] {
  const kept = metadata['tool_results'];
  return Array.isArray(kept) ? (kept as readonly JsonObject[]) : [];
}

/** With the results of this turn; the oldest go first when there is no room. */
export function rememberResults(
  metadata: JsonObject,
  results: readonly (readonly StructuredResult[])[],
): JsonValue {
  const fresh = results
    .flat()
    .filter(({ isError }) => isError !== true)
    .map(({ name, result }): JsonObject => ({ name, result }));
  const all = [...rememberedResults(metadata), ...fresh];
  let room = mostCharacters;
  const kept = all.toReversed().filter((one) => {
    room -= JSON.stringify(one).length;
    return room >= 0;
  });
  return kept.reverse();
}
