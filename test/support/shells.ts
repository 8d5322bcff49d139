import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { installPackage } from './servers.ts';

/** The path of a shell; where there is none, Debian's package is installed, when that is possible. */
export function shellPath(name: 'bash' | 'fish' | 'zsh'): string {
  const known = find(name);
  if (known !== undefined) return known;
  const hint = `These tests need ${name}: install it (Debian: apt-get install ${name}).`;
  installPackage(name, hint);
  const installed = find(name);
  if (installed === undefined) throw new Error(hint);
  return installed;
}

function find(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder !== '');
  return [...folders, '/usr/bin', '/bin']
    .map((folder) => join(folder, name))
    .find((path) => isProgram(path));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
