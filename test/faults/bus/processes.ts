import { type ChildProcess, fork } from 'node:child_process';

export interface ProcessesOptions {
  readonly file: string;
  /** Of the process with this number. */
  readonly args: (index: number) => readonly string[];
  /** Called whenever a process is ready, with its first message. */
  readonly onReady?: (index: number, said: unknown) => void;
  /** Called with its further messages. */
  readonly onMessage?: (index: number, said: unknown) => void;
}

/** Processes that are killed, frozen and started again. Each sends a message when it is ready. */
export class Processes {
  readonly #options: ProcessesOptions;
  readonly #children: ChildProcess[] = [];

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  async start(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) await this.#fork(index);
  }

  /** What is sent to a process that is gone is lost. */
  send(index: number, said: string): void {
    const child = this.#children[index];
    if (child?.connected === true) child.send(said, () => undefined);
  }

  /** Resolves when the next one is ready. */
  async kill(index: number): Promise<void> {
    const child = this.#children[index];
    if (child === undefined) return;
    const gone = new Promise((resolve) => void child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
    await this.#fork(index);
  }

  async freeze(index: number, milliseconds: number): Promise<void> {
    const child = this.#children[index];
    child?.kill('SIGSTOP');
    await new Promise((resolve) => void setTimeout(resolve, milliseconds));
    child?.kill('SIGCONT');
  }

  stop(): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }

  /** A broker that is about to restart may refuse a process: it starts again. */
  async #fork(index: number): Promise<void> {
    const { file, args, onReady, onMessage } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const child = fork(file, [...args(index)], { execArgv: [], stdio: 'ignore' });
      this.#children[index] = child;
      const ready = await new Promise<{ readonly said: unknown } | undefined>((resolve) => {
        child.once('message', (said) => resolve({ said }));
        child.once('exit', () => resolve(undefined));
      });
      if (ready !== undefined) {
        child.on('message', (said) => onMessage?.(index, said));
        onReady?.(index, ready.said);
        return;
      }
      if (attempt === 10) throw new Error(`${file} did not start`);
    }
  }
}
