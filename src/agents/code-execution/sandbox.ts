import { Worker } from 'node:worker_threads';
import { errorMessage } from '../../protocol/index.ts';

/** What a sandbox is to run, and how much it may use. */
export interface SandboxRequest {
  readonly code: string;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly maxOutputLength: number;
  /** Names of functions that the code may call. */
  readonly functions: readonly string[];
  /** Most calls of functions. */
  readonly maxCalls: number;
}

/** From the worker: the code starts, prints, calls a function or has ended. */
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

/** To the worker: what became of a call. */
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

/** How the code ended, and what it printed. */
export interface SandboxEnd extends SandboxOutcome {
  readonly output: string;
  /** The code printed more. */
  readonly isCut: boolean;
}

/** Milliseconds that the worker has to stop by itself. */
const graceMs = 500;
/** Milliseconds for the start of the thread. */
const startMs = 30_000;
/** MiB of the worker's own heap, beside the memory of the sandbox. */
const workerHeapMb = 64;

/**
 * Runs code in a sandbox of its own: a new worker thread with a new QuickJS, which share nothing with the
 * process but text. Rejects with the signal's reason when that aborts; what the code does wrong is part
 * of the result.
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
  // The time limit counts from the first instruction: a slow start of the thread is not the code's fault.
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
