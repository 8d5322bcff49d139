import type { EndKind, TurnEnd, TurnEvent } from '../agents/index.ts';
import {
  data,
  isJsonObject,
  type JsonObject,
  LegateError,
  type Part,
  partSize,
  type StreamResponse,
  type TaskState,
  type TaskStatus,
  text,
} from '../protocol/index.ts';
import type { LiveTask } from './live-task.ts';
import type { Scheduler } from './scheduler.ts';

/** The task state for each kind of end of a turn. */
export const endStates = {
  completed: 'TASK_STATE_COMPLETED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
} as const satisfies Record<EndKind, TaskState>;

const endKinds: readonly EndKind[] = [
  'completed',
  'input-required',
  'auth-required',
  'rejected',
  'failed',
  'canceled',
];

/** The kind of end that leads to a task state; undefined while a turn is in flight. */
export function endKindOf(state: TaskState): EndKind | undefined {
  return endKinds.find((kind) => endStates[kind] === state);
}

/**
 * The last status of a question that a later task of its conversation supersedes. The state stays
 * input-required; the data has the agent's state of the conversation and the id of the successor.
 */
export function supersededBy(taskId: string, { message }: TaskStatus): TurnEnd {
  const details = message?.parts.map((part) => part.data).find(isJsonObject);
  return {
    kind: 'input-required',
    parts: [data({ state: 'input_required', ...details, superseded_by: taskId })],
  };
}

export function isSuperseded({ state, message }: TaskStatus): boolean {
  if (state !== 'TASK_STATE_INPUT_REQUIRED') return false;
  const [details] = message?.parts ?? [];
  return isJsonObject(details?.data) && typeof details.data['superseded_by'] === 'string';
}

export function isTurnEnd(event: TurnEvent): event is TurnEnd {
  return 'kind' in event && event.kind in endStates;
}

/** An end that the engine declares, for programs (`error_type`) and for people. */
export function engineEnd(
  kind: EndKind,
  errorType: string,
  explanation: string,
  info?: JsonObject,
): TurnEnd {
  return {
    kind,
    parts: [
      data({
        state: kind.replace('-', '_'),
        error_type: errorType,
        ...(info !== undefined && { error_info: info }),
      }),
      text(explanation),
    ],
    metadata: { error_type: errorType },
  };
}

/** Refuses invalid events of agents. They fail the turn, and never reach callers or the log. */
export class EventCheck {
  readonly #maxSize: number;
  /** Artifacts whose last chunk was emitted; unset while there is none. */
  #completed: Set<string> | undefined;
  /** Artifacts with chunks, but without their last chunk; unset while there is none. */
  #open: Set<string> | undefined;
  /** Artifacts of this turn; undefined in the first turn, which has no others. */
  readonly #own: Set<string> | undefined;

  constructor(maxSize: number, { isFirstTurn }: { readonly isFirstTurn: boolean }) {
    this.#maxSize = maxSize;
    this.#own = isFirstTurn ? undefined : new Set();
  }

  /**
   * Returns the artifact of an earlier turn to which the event appends: that turn must not have completed
   * it. An event may replace an artifact, because a later turn can produce another result.
   */
  check(event: TurnEvent, task: LiveTask): string | undefined {
    if (typeof event !== 'object' || event === null) throw broken('an event must be an object');
    const isChunk = 'kind' in event && event.kind === 'chunk';
    const artifact = isChunk ? event.artifact : 'artifactId' in event ? event : undefined;
    if (artifact !== undefined) {
      const { artifactId } = artifact;
      if (this.#completed?.has(artifactId) === true) throw wasClosed(artifactId);
      if (isChunk && event.append && !task.hasArtifact(artifactId)) {
        throw broken(`there is no artifact ${artifactId} to append to`);
      }
      this.#checkParts(artifact.parts, `artifact ${artifactId}`);
      if (this.#own === undefined || this.#own.has(artifactId)) return undefined;
      this.#own.add(artifactId);
      return isChunk && event.append ? artifactId : undefined;
    }
    if (!('kind' in event)) throw broken('an event has neither a kind nor an artifactId');
    switch (event.kind) {
      case 'working':
      case 'completed':
      case 'input-required':
      case 'auth-required':
      case 'rejected':
      case 'failed':
      case 'canceled':
        if (event.parts !== undefined) this.#checkParts(event.parts, event.kind);
        return undefined;
      case 'message':
        this.#checkParts(event.parts, 'message');
        return undefined;
      default:
        throw broken(`unknown kind of event ${JSON.stringify(event.kind)}`);
    }
  }

  /** Records which artifacts are complete. Call it only for accepted events: refused ones change nothing. */
  accept(event: TurnEvent): void {
    if ('artifactId' in event) return void this.#open?.delete(event.artifactId);
    if (!('kind' in event) || event.kind !== 'chunk') return;
    const { artifactId } = event.artifact;
    if (!event.lastChunk) return void (this.#open ??= new Set()).add(artifactId);
    (this.#completed ??= new Set()).add(artifactId);
    this.#open?.delete(artifactId);
  }

  /** Artifacts of the turn without their last chunk. */
  get open(): Iterable<string> {
    return this.#open ?? [];
  }

  /** The end of the turn. The end of a failed turn lists its incomplete artifacts. */
  marked(end: TurnEnd): TurnEnd {
    if (end.kind !== 'failed' || this.#open === undefined || this.#open.size === 0) return end;
    return { ...end, metadata: { ...end.metadata, incomplete_artifacts: [...this.#open] } };
  }

  #checkParts(parts: readonly Part[], where: string): void {
    if (!Array.isArray(parts) || parts.length === 0) throw broken(`${where} has no parts`);
    let size = 0;
    for (const part of parts as readonly Part[]) {
      const members =
        (part.text === undefined ? 0 : 1) +
        (part.raw === undefined ? 0 : 1) +
        (part.url === undefined ? 0 : 1) +
        ('data' in part && part.data !== undefined ? 1 : 0);
      if (members !== 1)
        throw broken(`a part of ${where} must have exactly one of text, raw, url and data`);
      size += partSize(part);
    }
    if (size > this.#maxSize) {
      throw broken(
        `${where} has ${size} characters, more than the ${this.#maxSize} allowed (maxEventSize)`,
      );
    }
  }
}

export function wasClosed(artifactId: string): LegateError {
  return broken(`artifact ${artifactId} was completed by its last chunk`);
}

function broken(what: string): LegateError {
  return new LegateError('INVALID_AGENT_RESPONSE', `the agent's answer is not valid: ${what}`);
}

/** A status update of a task at the current time, with the agent's message if there is one. */
export function statusEvent(
  task: { readonly id: string; readonly contextId: string },
  state: TaskState,
  said: Pick<TurnEnd, 'parts' | 'metadata'>,
  scheduler: Scheduler,
): StreamResponse {
  const { parts, metadata } = said;
  return {
    statusUpdate: {
      taskId: task.id,
      contextId: task.contextId,
      status: {
        state,
        ...(parts !== undefined && {
          message: {
            messageId: scheduler.uuid(),
            contextId: task.contextId,
            taskId: task.id,
            role: 'ROLE_AGENT',
            parts,
          },
        }),
        timestamp: timestamp(scheduler.now()),
      },
      ...(metadata !== undefined && { metadata }),
    },
  };
}

let lastTime = Number.NaN;
let lastText = '';

/** A time in the protocol's format. Events often share a millisecond, so the last text is cached. */
export function timestamp(time: number): string {
  if (time !== lastTime) {
    lastTime = time;
    lastText = new Date(time).toISOString();
  }
  return lastText;
}

/** The time of a timestamp, in milliseconds; NaN for an invalid one. */
export function timeOf(text: string): number {
  return text === lastText ? lastTime : Date.parse(text);
}
