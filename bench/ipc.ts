import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Answered, Asked } from './protocol.ts';

/** A process of the benchmark that answers requests. */
export interface Helper<Question, Answer> {
  ask(question: Question): Promise<Answer>;
  stop(): Promise<void>;
}

export interface HelperOptions {
  /** Relative to this folder. */
  readonly file: string;
  readonly arguments?: readonly string[];
  /** The Node that runs it. @default the Node that runs the benchmark */
  readonly node?: string;
  /** Additional environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The processor to pin it to, if `taskset` exists. @default any */
  readonly core?: number;
}

const canPin = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** Whether the server and the load generator run on different processors. */
export const isPinned = canPin && availableParallelism() > 1;

/** Starts a helper; resolves with its first message. */
export async function startHelper<Question, Answer, Ready>(
  options: HelperOptions,
): Promise<{ helper: Helper<Question, Answer>; ready: Ready }> {
  const node = [
    options.node ?? process.execPath,
    fileURLToPath(new URL(options.file, import.meta.url)),
    ...(options.arguments ?? []),
  ];
  const [command = '', ...rest] =
    isPinned && options.core !== undefined ? ['taskset', '-c', `${options.core}`, ...node] : node;
  const child = spawn(command, rest, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...options.environment },
  });
  const ready: unknown = await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${options.file} ended with code ${code}`)));
  });
  return { helper: asker<Question, Answer>(child, options.file), ready: ready as Ready };
}

function asker<Question, Answer>(child: ChildProcess, name: string): Helper<Question, Answer> {
  let lastId = 0;
  const waiting = new Map<number, (answered: Answered<Answer>) => void>();
  child.on('message', (message) => {
    const answered = message as Answered<Answer>;
    waiting.get(answered.id)?.(answered);
    waiting.delete(answered.id);
  });
  child.on('exit', (code) => {
    for (const [id, settle] of waiting) settle({ id, failure: `it ended with code ${code}` });
  });
  return {
    async ask(question) {
      lastId += 1;
      const asked: Asked<Question> = { id: lastId, question };
      const answered = await new Promise<Answered<Answer>>((resolve) => {
        waiting.set(asked.id, resolve);
        child.send(asked);
      });
      if ('failure' in answered) throw new Error(`${name}: ${answered.failure}`);
      return answered.answer;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The helper's side: reports that it is ready, and answers requests until the main process exits. */
export function answerQuestions<Question, Answer>(
  answer: (question: Question) => Promise<Answer>,
  ready: unknown = {},
): void {
  process.on('message', (message) => {
    const { id, question } = message as Asked<Question>;
    answer(question).then(
      (result) => process.send?.({ id, answer: result }),
      (error: unknown) => process.send?.({ id, failure: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit());
  process.send?.(ready);
}
