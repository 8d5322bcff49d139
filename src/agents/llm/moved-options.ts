import { invalidConfiguration } from '../../protocol/index.ts';

/**
 * What a callback is told, with the names that the AI SDK has for it: a callback written for the AI SDK
 * reads one of these and is told what to read instead, where it would continue with `undefined`.
 */
export function movedOptions<T extends object>(
  owner: string,
  options: T,
  moved: Readonly<Record<string, string>>,
): T {
  for (const [name, instead] of Object.entries(moved)) {
    Object.defineProperty(options, name, {
      get: () => {
        throw invalidConfiguration(`${owner} has no "${name}"; ${instead}`);
      },
    });
  }
  return options;
}
