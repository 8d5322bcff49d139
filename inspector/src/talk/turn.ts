import {
  isTerminal,
  type Message,
  type Part,
  type StreamResponse,
  type TaskState,
} from '../../../src/protocol/index.ts';

/** A message or an artifact of the agent in one turn. */
export interface Output {
  readonly kind: 'message' | 'artifact';
  readonly key: string;
  readonly name?: string;
  /** Mutated in place while chunks arrive. */
  readonly parts: Part[];
  isSealed: boolean;
}

/**
 * One message to an agent and its answer, as streamed. Events are applied in place, at constant cost
 * per event.
 */
export class TalkTurn {
  readonly number: number;
  readonly message: Message;
  readonly outputs: Output[] = [];
  taskId: string | undefined;
  contextId: string | undefined;
  state: TaskState | undefined;
  events = 0;
  isOpen = true;
  problem = '';
  readonly startedAt = Date.now();
  firstAt: number | undefined;
  endedAt: number | undefined;
  readonly #artifacts = new Map<string, Output>();
  readonly #messages = new Set<string>();

  /** Shown instead of the message: the title of a button. */
  readonly shown: string | undefined;

  constructor(number: number, message: Message, shown?: string) {
    this.number = number;
    this.message = message;
    this.shown = shown;
    this.taskId = message.taskId;
  }

  take(response: StreamResponse): void {
    this.events += 1;
    if ('message' in response) this.#say(response.message);
    else if ('statusUpdate' in response) {
      const { taskId, contextId, status } = response.statusUpdate;
      this.#belong(taskId, contextId, status.state);
      this.#say(status.message);
    } else if ('artifactUpdate' in response) {
      const { artifact, append, lastChunk } = response.artifactUpdate;
      this.#make(artifact, append === true, lastChunk === true);
    } else {
      const { id, contextId, status, artifacts, history = [] } = response.task;
      this.#belong(id, contextId, status.state);
      // Only messages after our own are an answer to it.
      const own = history.findLastIndex(({ messageId }) => messageId === this.message.messageId);
      const isNew = own >= 0 || this.message.taskId === undefined;
      for (const message of isNew ? history.slice(own + 1) : []) this.#say(message);
      for (const artifact of isNew ? (artifacts ?? []) : []) this.#make(artifact, false, true);
      if (isNew) this.#say(status.message);
    }
  }

  close(problem = ''): void {
    this.isOpen = false;
    this.problem = problem;
    this.endedAt = Date.now();
  }

  /** Whether the agent waits for its caller. */
  get isWaiting(): boolean {
    return this.state === 'TASK_STATE_INPUT_REQUIRED' || this.state === 'TASK_STATE_AUTH_REQUIRED';
  }

  get hasEnded(): boolean {
    return this.state !== undefined && isTerminal(this.state);
  }

  #belong(taskId: string, contextId: string, state: TaskState): void {
    this.taskId = taskId;
    this.contextId = contextId;
    this.state = state;
  }

  #say(message: Message | undefined): void {
    if (message === undefined || message.role === 'ROLE_USER') return;
    if (this.#messages.has(message.messageId)) return;
    this.#messages.add(message.messageId);
    if (message.contextId !== undefined) this.contextId = message.contextId;
    this.firstAt ??= Date.now();
    this.outputs.push({
      kind: 'message',
      key: message.messageId,
      parts: [...message.parts],
      isSealed: true,
    });
  }

  #make(
    artifact: { artifactId: string; name?: string; parts: readonly Part[] },
    isMore: boolean,
    isLast: boolean,
  ): void {
    this.firstAt ??= Date.now();
    const known = this.#artifacts.get(artifact.artifactId);
    if (known === undefined) {
      const output: Output = {
        kind: 'artifact',
        key: artifact.artifactId,
        ...(artifact.name !== undefined && { name: artifact.name }),
        parts: [...artifact.parts],
        isSealed: isLast,
      };
      this.#artifacts.set(artifact.artifactId, output);
      this.outputs.push(output);
      return;
    }
    if (!isMore) known.parts.length = 0;
    for (const part of artifact.parts) append(known.parts, part);
    known.isSealed = isLast;
  }
}

/** Joins consecutive texts: rendering must not depend on the number of chunks. */
function append(parts: Part[], part: Part): void {
  const last = parts.at(-1);
  const isOne = isPlainText(last) && isPlainText(part);
  if (isOne) parts[parts.length - 1] = { ...last, text: last.text + part.text };
  else parts.push(part);
}

function isPlainText(part: Part | undefined): part is Part & { readonly text: string } {
  return part?.text !== undefined && part.metadata === undefined;
}
