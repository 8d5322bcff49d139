import { execFile, spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

/** Asynchronous: the registry of a test can run in this process. */
const run = promisify(execFile);

/** The result of the steps of a Dockerfile. */
export interface BuiltImage {
  /** The working directory of the last stage. */
  readonly directory: string;
  /** ENTRYPOINT and CMD. */
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  /** The folders that it adds to PATH. */
  readonly path: readonly string[];
  /** The number of COPY and RUN instructions. */
  readonly steps: number;
}

export interface DockerfileOptions {
  readonly file: string;
  /** The build context: a folder. */
  readonly context: string;
  /** An empty folder; every stage gets a subfolder as its file system. */
  readonly place: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Executes the steps of a Dockerfile without a container, in folders that represent the file systems of
 * its stages. Ignores users, owners, ports and base images.
 */
export async function executeDockerfile({
  file,
  context,
  place,
  env,
}: DockerfileOptions): Promise<BuiltImage> {
  const variables = new Map<string, string>();
  const stages = new Map<string, string>();
  let stage = '';
  let directory = '';
  let entrypoint: readonly string[] = [];
  let command: readonly string[] = [];
  let path: readonly string[] = [];
  let steps = 0;
  for (const { name, text } of instructions(readFileSync(file, 'utf8'))) {
    const filled = text.replaceAll(
      /\$\{(\w+)\}/g,
      (_, variable: string) => variables.get(variable) ?? '',
    );
    if (name === 'FROM') {
      stage = join(place, String(stages.size));
      mkdirSync(stage);
      stages.set(/ AS (\w+)$/.exec(text)?.[1] ?? '', stage);
    } else if (name === 'WORKDIR') {
      directory = join(stage, filled);
      mkdirSync(directory, { recursive: true });
    } else if (name === 'ARG') {
      const [variable = '', value = ''] = filled.split('=');
      variables.set(variable, value);
    } else if (name === 'COPY') {
      copy(filled, { context, directory, stages });
      steps += 1;
    } else if (name === 'RUN') {
      // Only root can change owners. The step empties npm's cache, so it gets a separate one.
      await run('sh', ['-ec', filled.replace(/ && chown .*$/, '')], {
        cwd: directory,
        env: { ...env, npm_config_cache: join(place, 'npm-cache') },
        maxBuffer: 64 * 1024 * 1024,
      });
      steps += 1;
    } else if (name === 'ENV') {
      const folders = /\bPATH=(\S+)/.exec(text)?.[1]?.split(':') ?? [];
      path = folders.filter((folder) => folder !== '$PATH').map((folder) => join(stage, folder));
    } else if (name === 'ENTRYPOINT') entrypoint = list.parse(JSON.parse(text));
    else if (name === 'CMD') command = list.parse(JSON.parse(text));
  }
  return { directory, entrypoint, command, path, steps };
}

const list = z.array(z.string());

interface Instruction {
  readonly name: string;
  readonly text: string;
}

function instructions(dockerfile: string): readonly Instruction[] {
  return dockerfile
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .flatMap((line) => {
      const match = /^([A-Z]+)\s+(.*)$/.exec(line);
      return match === null ? [] : [{ name: match[1] ?? '', text: match[2] ?? '' }];
    });
}

interface Copy {
  readonly context: string;
  readonly directory: string;
  readonly stages: ReadonlyMap<string, string>;
}

/** Copies one or more sources to the last path, like COPY. */
function copy(text: string, { context, directory, stages }: Copy): void {
  const words = text.split(/\s+/);
  const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
  const paths = from === undefined ? words : words.slice(1);
  const target = paths.at(-1) ?? '';
  const base = from === undefined ? context : (stages.get(from) ?? '');
  for (const source of paths.slice(0, -1)) {
    if (from === undefined && source === '.') {
      for (const file of contextFiles(context)) {
        cpSync(join(context, file), join(directory, file), { recursive: true });
      }
      continue;
    }
    const found = globSync(source.replace(/^\//, ''), { cwd: base });
    if (found.length === 0) throw new Error(`COPY ${text}: there is no ${source}`);
    for (const file of found) {
      const into = target.endsWith('/')
        ? join(directory, target, basename(file))
        : join(directory, target);
      cpSync(join(base, file), into, {
        recursive: true,
        filter: (path) => !isIgnored(path.slice(base.length)),
      });
    }
  }
}

/**
 * The files of a checkout that git doesn't ignore; of another folder, the files that .dockerignore
 * doesn't list.
 */
function contextFiles(context: string): readonly string[] {
  const listed = spawnSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: context,
      encoding: 'utf8',
    },
  );
  if (listed.status === 0) return listed.stdout.split('\0').filter((file) => file !== '');
  return globSync('{**,.*}', { cwd: context, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(context.length + 1))
    .filter((file) => !isIgnored(`/${file}`));
}

function isIgnored(path: string): boolean {
  return /\/(?:node_modules|\.git|\.legate|models|dist)(?:\/|$)/.test(path);
}
