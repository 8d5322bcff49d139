import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

export const root = join(import.meta.dirname, '../..');
export const deploy = join(root, 'deploy');
export const company = join(root, 'examples/company');
/** The folder of installed tools; kept between runs. */
const cache = join(root, 'node_modules/.cache/legate-deployment');

/** A program that the checks need is not available on this machine. */
export class MissingToolError extends Error {}

/** Runs a program and returns its output; the error of a failure has both outputs. */
export function output(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): string {
  try {
    return execFileSync(command, args, {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options,
    });
  } catch (error) {
    const { success, data } = failure.safeParse(error);
    if (!success) throw error;
    if (data.code === 'ENOENT') throw new MissingToolError(`${command} is not installed`);
    throw new Error(
      `${command} ${args.join(' ')} failed:\n${data.stdout ?? ''}${data.stderr ?? ''}`,
      { cause: error },
    );
  }
}

const failure = z.object({
  code: z.string().optional(),
  stdout: z.string().optional(),
  stderr: z.string().optional(),
});

function isInstalled(command: string): boolean {
  try {
    execFileSync(command, ['--help'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    return !z.object({ code: z.literal('ENOENT') }).safeParse(error).success;
  }
}

/** The flags of Helm's own build: without them, Helm treats every cluster as Kubernetes 1.20. */
const kubernetes = ['chartutil', 'lint/rules']
  .flatMap((place) => [
    `-X helm.sh/helm/v3/pkg/${place}.k8sVersionMajor=1`,
    `-X helm.sh/helm/v3/pkg/${place}.k8sVersionMinor=33`,
  ])
  .join(' ');

/** The installed Helm; without one, builds it with Go. */
export function helm(): string {
  if (isInstalled('helm')) return 'helm';
  const built = join(cache, 'bin/helm');
  if (!existsSync(built)) {
    execFileSync('go', ['install', '-ldflags', kubernetes, 'helm.sh/helm/v3/cmd/helm@v3.19.0'], {
      env: { ...process.env, GOBIN: join(cache, 'bin') },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return built;
}

/** The folder of a module from the Go module proxy, for the schemas in it. */
export function goModule(name: string, version: string): string {
  const answer = output('go', ['mod', 'download', '-json', `${name}@${version}`], { cwd: root });
  return z.object({ Dir: z.string() }).parse(JSON.parse(answer)).Dir;
}

/** A Python with the validators of Kubernetes objects and of JSON Schema. */
export function python(): string {
  const folder = join(cache, 'python');
  const binary = join(folder, 'bin/python');
  if (!existsSync(join(folder, 'ready'))) {
    output('python3', ['-m', 'venv', folder]);
    output(binary, [
      '-m',
      'pip',
      'install',
      '-q',
      'kubernetes-validate==1.37.0',
      'jsonschema',
      'pyyaml',
    ]);
    mkdirSync(join(folder, 'ready'), { recursive: true });
  }
  return binary;
}
