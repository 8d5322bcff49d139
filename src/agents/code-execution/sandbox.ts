import { Worker } from 'node:worker_threads';
import { errorMessage } from '../../protocol/index.ts';

/** The code for a sandbox, and its limits. */
export interface SandboxRequest {
  readonly code: string;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly maxOutputLength: number;
  /** Names of functions that the code can call. */
  readonly functions: readonly string[];
  /** Maximum calls of functions. */
  readonly maxCalls: number;
}

/** From the worker: the code started, printed, called a function or ended. */
export type SandboxMessage =
  | { readonly type: 'start' }
  | { readonly type: 'print'; readonly text: string; readonly isCut: boolean }
  | SandboxCall
  | ({ readonly type: 'end' } & SandboxOutcome);

interface SandboxCall {
  readonly type: 'call';
  readonly id: number;
  readonly name: string;
  /** JSON. */
  readonly input: string;
}

/** To the worker: the outcome of a call. */
export interface SandboxAnswer {
  readonly id: number;
  /** JSON. */
  readonly value?: string;
  readonly error?: string;
}

/** How the code ended. */
export interface SandboxOutcome {
  /** JSON of the value; absent for undefined. */
  readonly result?: string;
  readonly error?: string;
  /** Stopped at the time limit. */
  readonly isLate?: boolean;
}

/** How the code ended, and its printed output. */
export interface SandboxEnd extends SandboxOutcome {
  readonly output: string;
  /** Whether the code printed more. */
  readonly isCut: boolean;
}

/** Milliseconds after the time limit in which the worker can stop by itself. */
const graceMs = 500;
/** Timeout of the start of the thread, in milliseconds. */
const startMs = 30_000;
/** Limit of the worker's own heap, in MiB, in addition to the memory of the sandbox. */
const workerHeapMb = 64;

/**
 * Runs code in a new sandbox: a new worker thread with a new QuickJS, which share only text with the
 * process. Rejects with the signal's reason if the signal aborts; errors of the code are part of the
 * result.
 */
export async function runSandbox(
  request: SandboxRequest,
  options: {
    /** Calls a function; the signal aborts when the sandbox ends. */
    readonly call: (name: string, input: string, signal: AbortSignal) => Promise<string>;
    readonly signal: AbortSignal;
  },
): Promise<SandboxEnd> {
  const { call, signal } = options;
  signal.throwIfAborted();
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./sandbox-worker.${extension}`, import.meta.url), {
    workerData: request,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: workerHeapMb, maxYoungGenerationSizeMb: 16 },
  });
  const { promise, resolve, reject } = Promise.withResolvers<SandboxOutcome>();
  const failed = (error: string): void => resolve({ error });
  let output = '';
  let isCut = false;
  const ended = new AbortController();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort);
  const late = (): void => resolve({ isLate: true });
  // The time limit starts with the code, so a slow start of the thread does not count.
  let timer = setTimeout(() => failed('the sandbox did not start in time'), startMs);
  worker.on('message', (message: SandboxMessage) => {
    switch (message.type) {
      case 'start':
        clearTimeout(timer);
        timer = setTimeout(late, request.timeoutMs + graceMs);
        break;
      case 'print':
        output += message.text;
        isCut ||= message.isCut;
        break;
      case 'call': {
        const { id, name, input } = message;
        void call(name, input, ended.signal).then(
          (value) => worker.postMessage({ id, value } satisfies SandboxAnswer),
          (error: unknown) =>
            worker.postMessage({ id, error: errorMessage(error) } satisfies SandboxAnswer),
        );
        break;
      }
      case 'end': {
        const { type: _, ...outcome } = message;
        resolve(outcome);
      }
    }
  });
  worker.once('error', (error) => failed(`the sandbox failed: ${String(error)}`));
  worker.once('exit', () => failed('the sandbox ended without a result'));
  try {
    const outcome = await promise;
    return { ...outcome, output, isCut };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    ended.abort(new Error('the code has ended'));
    await worker.terminate();
  }
}
