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

/** The task state that each way of ending a turn leads to. */
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

/** How the turn ended that left a task in this state; undefined while one is in flight. */
export function endKindOf(state: TaskState): EndKind | undefined {
  return endKinds.find((kind) => endStates[kind] === state);
}

/**
 * The last status of a question that a later task of its conversation has taken over: input-required
 * still, with the state that the agent gave of the conversation and the id of the successor.
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

/** An end that the engine itself declares, for machines (`error_type`) and for people. */
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

/** Refuses what an agent must not emit. A broken agent fails its turn, never its caller or the log. */
export class EventCheck {
  readonly #maxSize: number;
  /** Artifacts whose last chunk has come; unset while there is none. */
  #completed: Set<string> | undefined;
  /** Artifacts that came in chunks, of which the last has not come; unset while there is none. */
  #open: Set<string> | undefined;
  /** Artifacts of this turn; undefined where there can be no others. */
  readonly #own: Set<string> | undefined;

  constructor(maxSize: number, { isFirstTurn }: { readonly isFirstTurn: boolean }) {
    this.#maxSize = maxSize;
    this.#own = isFirstTurn ? undefined : new Set();
  }

  /**
   * Returns the artifact of an earlier turn to which the event adds: it must not have been completed
   * there. Replacing it is fine, for a further turn may come to another result.
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

  /** Notes which artifacts are whole. For events that were accepted: a refused one changes nothing. */
  accept(event: TurnEvent): void {
    if ('artifactId' in event) return void this.#open?.delete(event.artifactId);
    if (!('kind' in event) || event.kind !== 'chunk') return;
    const { artifactId } = event.artifact;
    if (!event.lastChunk) return void (this.#open ??= new Set()).add(artifactId);
    (this.#completed ??= new Set()).add(artifactId);
    this.#open?.delete(artifactId);
  }

  /** Artifacts of the turn whose last chunk has not come. */
  get open(): Iterable<string> {
    return this.#open ?? [];
  }

  /** The end of the turn; one that failed names the artifacts that are not whole. */
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

/** A status update of a task, now, with the agent's words where there are any. */
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

/** A time as the protocol writes it. Many events fall into one millisecond: the last text is kept. */
export function timestamp(time: number): string {
  if (time !== lastTime) {
    lastTime = time;
    lastText = new Date(time).toISOString();
  }
  return lastText;
}

/** The time that a timestamp stands for, in milliseconds; NaN for one that is none. */
export function timeOf(text: string): number {
  return text === lastText ? lastTime : Date.parse(text);
}
