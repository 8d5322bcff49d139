import { LegateError } from '../protocol/index.ts';

const wellFormed = /^\/(?:[^{}*]|\{[a-z]\w*\})*(?:(?<=\/)\*)?$/i;

/**
 * A path with `{name}` for one segment or a part of it, and a final `/*` for everything below, as an
 * expression whose groups are those names and `rest`.
 */
export function pathPattern(path: string): RegExp {
  if (!wellFormed.test(path)) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `${JSON.stringify(path)} is not a path of a route; write one like /chat/{room} or /chat/*`,
    );
  }
  const source = path
    .replace(/[.+?^$()|[\]\\]/g, String.raw`\$&`)
    .replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
    .replace(/\*$/, '(?<rest>.*)');
  return new RegExp(`^${source}$`, 's');
}

/** The segments that a path has for the names of a pattern, decoded; `*` is the rest, as it was sent. */
export function pathParams(pattern: RegExp, path: string): Readonly<Record<string, string>> {
  const { rest, ...segments } = pattern.exec(path)?.groups ?? {};
  const params: Record<string, string> = rest === undefined ? {} : { '*': rest };
  for (const [name, value] of Object.entries(segments)) {
    try {
      params[name] = decodeURIComponent(value);
    } catch (cause) {
      throw new LegateError('INVALID_PARAMS', `${name} in the path is not valid percent-encoding`, {
        cause,
        violations: [{ field: name, description: 'is not valid percent-encoding' }],
      });
    }
  }
  return params;
}
