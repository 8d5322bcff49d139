import { statSync } from 'node:fs';

/** A module, and the export that the command names. */
export interface ModuleTarget {
  readonly file: string;
  readonly exported: string | undefined;
}

/** Parses the name of a module (`agent.ts`, or `agents.ts#bob`); undefined for other targets. */
export function moduleTarget(target: string): ModuleTarget | undefined {
  const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile(target)) return { file: target, exported: undefined };
  const [file = '', exported] = target.split('#', 2);
  return exported !== undefined && isFile(file) ? { file, exported } : undefined;
}
