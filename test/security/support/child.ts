import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

export interface ChildServer extends AsyncDisposable {
  readonly url: string;
  /** SIGKILL: no farewell of any kind. */
  kill(): Promise<void>;
}

/** Starts `push-server.ts` as a process of its own. */
export async function startPushServer(
  path: string,
  options: { readonly maxAttempts?: number } = {},
): Promise<ChildServer> {
  const args = [path, String(options.maxAttempts ?? 10)];
  const child = fork(join(import.meta.dirname, 'push-server.ts'), args, { execArgv: [] });
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port: number }));
    child.once('exit', (code) => reject(new Error(`the server ended with code ${code}`)));
  });
  const kill = (): Promise<void> => killed(child);
  return { url: `http://127.0.0.1:${port}`, kill, [Symbol.asyncDispose]: kill };
}

function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}
