import { invalidConfiguration } from '../../protocol/index.ts';

/**
 * Adds getters for the AI SDK's names to the argument of a callback. A callback written for the AI SDK
 * then gets an error that names the replacement, instead of `undefined`.
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
