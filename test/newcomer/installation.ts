import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Block, blocksOf } from './markdown.ts';
import { type Newcomer, newcomer, root } from './packed.ts';
import { Reader } from './reader.ts';

/** A newcomer, and a project of theirs in which the package is installed. */
export interface Installation extends AsyncDisposable {
  readonly me: Newcomer;
  /** The folder of the project. */
  readonly project: string;
}

/** One folder and one installation for all pages, as one person would have them. */
export async function installation(): Promise<Installation> {
  const me = await newcomer();
  const project = join(me.directory, 'project');
  await mkdir(project);
  await using reader = new Reader(project, me.environment);
  await reader.follow([
    shell(`npm init -y && npm pkg set type=module && npm install ${me.tarball}`),
  ]);
  return { me, project, [Symbol.asyncDispose]: () => me[Symbol.asyncDispose]() };
}

export async function page(name: string): Promise<readonly Block[]> {
  return blocksOf(await readFile(join(root, name), 'utf8'));
}

export function shell(body: string, info = ''): Block {
  return { language: 'sh', info, title: undefined, body };
}

/** The TypeScript files that a page has you write. */
export function filesOf(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap(({ title = '' }) => (title.endsWith('.ts') ? [title] : []));
}
