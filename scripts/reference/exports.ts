import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The entry points of the package, in `src/`. */
export const entryFiles: readonly string[] = [
  'index.ts',
  'client/index.ts',
  'assistant/index.ts',
  'models/index.ts',
  'bus/index.ts',
  'peers/index.ts',
  'auth/index.ts',
  'push/index.ts',
];

/** An export of an entry point of the package. */
export interface Exported {
  readonly name: string;
  /** The file that declares it. */
  readonly file: string;
  readonly kind: 'function' | 'class' | 'const' | 'interface' | 'type';
  /** The comment directly before its declaration. */
  readonly comment: string | undefined;
}

const lists = /^export (?:type )?(?:\* from|\{([^}]*)\} from) '(\.[^']+)';/gm;
const declarations =
  /(?:^\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^export (?:declare )?(?:abstract )?(?:async )?(function\*?|class|const|interface|type) (\w+)/gm;

/** All exports of a file, including re-exports. */
export function exportsOf(file: string): readonly Exported[] {
  const text = readFileSync(file, 'utf8');
  const own = Array.from(text.matchAll(declarations), ([, comment, kind = '', name = '']) => ({
    name,
    file,
    kind: kind.replace('*', '') as Exported['kind'],
    comment,
  }));
  const passed = [...text.matchAll(lists)].flatMap(([, names, path = '']) => {
    const there = exportsOf(join(dirname(file), path));
    if (names === undefined) return there;
    return names
      .split(',')
      .map((part) => part.trim().replace(/^type /, ''))
      .filter((part) => part !== '')
      .flatMap((part) => {
        const [from = '', to = from] = part.split(' as ');
        const found = there.find(({ name }) => name === from);
        // A re-exported import is found in the file that declares it.
        const one = found ?? importedBy(join(dirname(file), path), from);
        return one === undefined ? [] : [{ ...one, name: to }];
      });
  });
  // Overloads are one export.
  return [...new Map([...passed, ...own.toReversed()].map((one) => [one.name, one])).values()];
}

/** An import that a file only re-exports; undefined if another package declares it. */
function importedBy(file: string, name: string): Exported | undefined {
  const text = readFileSync(file, 'utf8');
  for (const [, names = '', path = ''] of text.matchAll(
    /^import (?:type )?\{([^}]*)\} from '(\.[^']+)';/gm,
  )) {
    const isMeant = names.split(',').some((part) => part.trim().replace(/^type /, '') === name);
    const found = isMeant
      ? exportsOf(join(dirname(file), path)).find((one) => one.name === name)
      : undefined;
    if (found !== undefined) return found;
  }
  if (new RegExp(`\\b${name}\\b[^;]*from '[^.]`).test(text)) return undefined;
  throw new Error(`${file}: ${name} is not found`);
}
