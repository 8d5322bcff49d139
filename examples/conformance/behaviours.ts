import { setTimeout as wait } from 'node:timers/promises';
import type { Turn, TurnEvent } from '../../src/agents/index.ts';
import { artifact, data, file, type Message, type Part, text } from '../../src/protocol/index.ts';

/** The delays of the waiting behaviours, in milliseconds. */
export interface Times {
  /** `test-resubscribe-message-id`. */
  readonly resubscribe: number;
  /** `tck-delayed-complete`. */
  readonly delayed: number;
  /** `tck-long-running`. */
  readonly longRunning: number;
  /** `tck-cancel`: how long it waits for the cancellation. */
  readonly cancel: number;
}

export const defaultTimes: Times = {
  resubscribe: 4_000,
  delayed: 2_000,
  longRunning: 1_500,
  cancel: 120_000,
};

export interface Behaviour {
  /** The prefix of the messageId or of the first text. */
  readonly prefix: string;
  /** Whether follow-ups to a task of this behaviour use it, independent of their text. */
  readonly spansTurns?: boolean;
  take(turn: Turn, times: Times): AsyncIterable<TurnEvent>;
}

const working: TurnEvent = { kind: 'working' };
const completed: TurnEvent = { kind: 'completed' };
const outputFile = { filename: 'output.txt', mediaType: 'text/plain' } as const;
const fileByBytes = file({ bytes: new TextEncoder().encode('Generated file'), ...outputFile });
const fileByUrl = file({ url: 'https://example.com/output.txt', ...outputFile });

/** The behaviours for the suites, in any order: the longest matching prefix is used. */
export const behaviours: readonly Behaviour[] = [
  // Ends.
  does('tck-complete-task', { kind: 'completed', parts: [text('Hello from TCK')] }),
  does('tck-input-required', { kind: 'input-required', parts: [text('More input, please.')] }),
  does('tck-auth-required', { kind: 'auth-required', parts: [text('Sign in to go on.')] }),
  does('tck-reject-task', { kind: 'rejected', parts: [text('rejected')] }),
  does('tck-task-failure', {
    kind: 'failed',
    parts: [text('The task failed, as it was told to.')],
  }),
  does('tck-message-response', { kind: 'message', parts: [text('Direct message response')] }),

  // Artifacts.
  makes('tck-artifact-text', text('Generated text content')),
  makes('tck-artifact-file', fileByBytes),
  makes('tck-artifact-file-url', fileByUrl),
  makes('tck-artifact-data', data({ key: 'value', count: 42 })),

  // Streams.
  streams('tck-stream-001', text('Stream hello from TCK')),
  does('tck-stream-002', completed),
  streams('tck-stream-003', text('Stream task lifecycle')),
  streams('tck-stream-ordering-001', text('Ordered output')),
  streams('tck-stream-artifact-text', text('Streamed text content')),
  streams('tck-stream-artifact-file', fileByBytes),
  streamsChunks('tck-stream-artifact-chunked', 'chunk-1 ', 'chunk-2'),
  streams('tck-stream-basic', text('Streamed content')),
  streamsChunks('tck-stream-chunked', 'first, ', 'second, ', 'third'),

  // Waits.
  waits('test-resubscribe-message-id', 'resubscribe', completed),
  waits('tck-delayed-complete', 'delayed', {
    kind: 'completed',
    parts: [text('Done after delay')],
  }),
  waits('tck-long-running', 'longRunning', artifact('The result of long work'), {
    kind: 'completed',
    parts: [text('Done at last')],
  }),
  waits('tck-cancel', 'cancel', { kind: 'failed', parts: [text('Nobody cancelled this task.')] }),

  // Conversations.
  {
    prefix: 'tck-multi-turn',
    spansTurns: true,
    async *take(turn) {
      yield saysDone(turn.message)
        ? { kind: 'completed', parts: [text('That was all.')] }
        : { kind: 'input-required', parts: [text('Go on, or say "done".')] };
    },
  },
];

/** Yields the same events for every message. */
function does(prefix: string, ...events: readonly TurnEvent[]): Behaviour {
  return {
    prefix,
    async *take() {
      yield* events;
    },
  };
}

/** Creates an artifact and completes. */
function makes(prefix: string, part: Part): Behaviour {
  return {
    prefix,
    async *take() {
      yield artifact(part);
      yield completed;
    },
  };
}

/** Works, creates an artifact and completes. */
function streams(prefix: string, part: Part): Behaviour {
  return {
    prefix,
    async *take() {
      yield working;
      yield artifact(part);
      yield completed;
    },
  };
}

/** Works, creates one artifact in chunks, and completes. */
function streamsChunks(prefix: string, ...chunks: readonly string[]): Behaviour {
  return {
    prefix,
    async *take() {
      yield working;
      const artifactId = crypto.randomUUID();
      for (const [index, chunk] of chunks.entries()) {
        yield {
          kind: 'chunk',
          artifact: artifact(chunk, { artifactId }),
          append: index > 0,
          lastChunk: index === chunks.length - 1,
        };
      }
      yield completed;
    },
  };
}

/** Works for a time, and then yields the events, unless the turn is aborted. */
function waits(prefix: string, time: keyof Times, ...events: readonly TurnEvent[]): Behaviour {
  return {
    prefix,
    async *take(turn, times) {
      yield working;
      await wait(times[time], undefined, { signal: turn.signal });
      yield* events;
    },
  };
}

function saysDone(message: Message): boolean {
  return message.parts.some((part) => part.text?.trimStart().toLowerCase().startsWith('done'));
}
