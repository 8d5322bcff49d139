import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from '../../protocol/index.ts';
import type { DownloadCommandOptions } from '../commands/tasks.ts';
import { usage } from '../usage.ts';
import { callingTask } from './tasks.ts';

/** Saves the artifacts of a task, one file for each part. The agent chooses names, the user the folder. */
export function download(
  operands: readonly string[],
  options: DownloadCommandOptions,
): Promise<void> {
  return callingTask(operands, options, async ({ id, client, session, signal, output }) => {
    const task = await session.answered(client.getTask({ id, historyLength: 0 }, { signal }));
    mkdirSync(options.directory, { recursive: true });
    const taken = new Set<string>();
    const saved: string[] = [];
    for (const [index, artifact] of (task.artifacts ?? []).entries()) {
      const base = artifact.name ?? `artifact-${index + 1}`;
      for (const part of artifact.parts) {
        if (part.url !== undefined) {
          session.warn(`not fetched, because it is on another server: ${part.url}`);
          continue;
        }
        const path = join(options.directory, unused(fileName(part, base), taken));
        if (existsSync(path) && options.force !== true) {
          throw usage(`${path} exists; --force replaces it`);
        }
        writeFileSync(path, bytesOf(part));
        saved.push(path);
      }
    }
    output.document({ files: saved }, (text) => {
      for (const path of saved) text.field('File', path);
    });
    if (saved.length === 0) session.warn(`task ${id} has no artifacts to save`);
  });
}

const endings: readonly (readonly [keyof Part, string])[] = [
  ['text', '.txt'],
  ['data', '.json'],
  ['raw', '.bin'],
];

/** Never a path: drops leading folders and dots, which could escape the folder or hide the file. */
function fileName(part: Part, base: string): string {
  const ending = endings.find(([kind]) => part[kind] !== undefined)?.[1] ?? '';
  const wanted = part.filename ?? `${base}${ending}`;
  const name = wanted
    .replaceAll(/[\p{Cc}/\\:*?"<>|]/gu, '_')
    .replace(/^[.\s]+/, '_')
    .slice(0, 120);
  return name === '' ? `part${ending}` : name;
}

function unused(name: string, taken: Set<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1)
    free = name.replace(/(\.[^.]*)?$/, `-${count}$1`);
  taken.add(free);
  return free;
}

function bytesOf({ text, raw, data }: Part): Buffer {
  if (raw !== undefined) return Buffer.from(raw, 'base64');
  return Buffer.from(text ?? `${JSON.stringify(data, undefined, 2)}\n`);
}
