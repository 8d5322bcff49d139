import { statSync } from 'node:fs';

/** A module, and which of its exports is meant where a command names one. */
export interface ModuleTarget {
  readonly file: string;
  readonly exported: string | undefined;
}

/** The module that a command names (`agent.ts`, or `agents.ts#bob`); undefined for anything else. */
export function moduleTarget(target: string): ModuleTarget | undefined {
  const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile(target)) return { file: target, exported: undefined };
  const [file = '', exported] = target.split('#', 2);
  return exported !== undefined && isFile(file) ? { file, exported } : undefined;
}
