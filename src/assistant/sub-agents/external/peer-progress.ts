import { hash } from 'node:crypto';
import {
  appendParts,
  type Artifact,
  type JsonObject,
  LegateError,
  type Part,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '../../../protocol/index.ts';
import type { AgentOutput, AgentStatus, StructuredResult } from '../model.ts';

const statuses: Partial<Record<TaskStatus['state'], AgentStatus>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_INPUT_REQUIRED: 'input_required',
  TASK_STATE_FAILED: 'fatal_error',
  TASK_STATE_REJECTED: 'fatal_error',
  TASK_STATE_CANCELED: 'fatal_error',
  // There is nobody here who could log the user in elsewhere.
  TASK_STATE_AUTH_REQUIRED: 'fatal_error',
};

/** Of all artifacts of one call. Text that is appended to text adds no part. */
const maxParts = 10_000;
/** Of all artifacts of one call; data counts as JSON. */
const maxCharacters = 10_000_000;
const mostDigests = 50;

interface HeldArtifact {
  readonly name: string;
  readonly parts: Part[];
  characters: number;
}

/** What an agent elsewhere has told so far in one call, in the words of sub agents. */
export class PeerProgress {
  /** The agent's name. */
  readonly name: string;
  readonly #known: JsonObject;
  readonly #artifacts = new Map<string, HeldArtifact>();
  #status: TaskStatus | undefined;
  #message: readonly Part[] | undefined;
  #parts = 0;
  #characters = 0;
  taskId: string | undefined;
  contextId: string | undefined;

  /** `known` are the artifacts of earlier turns, by their digests: they were told already. */
  constructor(name: string, known: JsonObject = {}) {
    this.name = name;
    this.#known = known;
  }

  /** What each artifact holds now, for the turn that continues the task. */
  get digests(): JsonObject {
    const own = [...this.#artifacts].map(([id, { parts }]) => [id, digestOf(parts)] as const);
    return Object.fromEntries([...Object.entries(this.#known), ...own].slice(-mostDigests));
  }

  /**
   * Takes the next piece; what is returned is for the user at once. Throws `PEER_INVALID` when there is
   * more of it than we keep: half an answer is none.
   */
  accept(response: StreamResponse): string | undefined {
    if ('message' in response) {
      this.contextId = response.message.contextId ?? this.contextId;
      if (this.taskId !== undefined) return textOf(response.message.parts);
      this.#message = response.message.parts;
      return undefined;
    }
    if ('task' in response) return this.#acceptTask(response.task);
    if ('statusUpdate' in response) {
      const { taskId, contextId, status } = response.statusUpdate;
      this.#at(taskId, contextId);
      return this.#acceptStatus(status);
    }
    const { taskId, contextId, artifact, append } = response.artifactUpdate;
    this.#at(taskId, contextId);
    this.#acceptArtifact(artifact, append === true);
    return undefined;
  }

  get isWaitingForConsent(): boolean {
    return this.#status?.state === 'TASK_STATE_AUTH_REQUIRED';
  }

  /** Undefined while the agent is still at work. */
  get status(): AgentStatus | undefined {
    if (this.#message !== undefined) return 'input_required';
    return this.#status === undefined ? undefined : statuses[this.#status.state];
  }

  output(id: string): AgentOutput {
    const { status = 'fatal_error' } = this;
    if (this.#message !== undefined) {
      return {
        id,
        status,
        ...words(textOf(this.#message)),
        ...results([dataOf(this.name, this.#message)]),
      };
    }
    const parts = this.#status?.message?.parts ?? [];
    if (status === 'fatal_error') {
      const state = this.#status?.state ?? 'no state';
      return { id, status, errorMessage: `${state}: ${textOf(parts).slice(0, 300)}` };
    }
    const artifacts = [...this.#artifacts]
      .filter(([artifactId, { parts: held }]) => this.#known[artifactId] !== digestOf(held))
      .map(([, artifact]) => artifact);
    // A question stands in the status; a result may stand there, in artifacts, or in both.
    const texts = [textOf(parts), ...artifacts.map((one) => joined(one.parts))];
    const said =
      status === 'input_required'
        ? texts.find((text) => text !== '')
        : [...new Set(texts)].join('\n\n');
    const found = [
      ...artifacts.flatMap((one) => dataOf(one.name, one.parts)),
      ...dataOf(this.name, parts),
    ];
    return { id, status, ...words((said ?? '').trim()), ...results([found]) };
  }

  #acceptTask(task: Task): string | undefined {
    this.#at(task.id, task.contextId);
    for (const artifact of task.artifacts ?? []) this.#acceptArtifact(artifact, false);
    return this.#acceptStatus(task.status);
  }

  #acceptStatus(status: TaskStatus): string | undefined {
    const isNews = status.message?.messageId !== this.#status?.message?.messageId;
    this.#status = status;
    if (statuses[status.state] !== undefined || !isNews) return undefined;
    return textOf(status.message?.parts ?? []);
  }

  #acceptArtifact({ artifactId, name, parts }: Artifact, append: boolean): void {
    const before = this.#artifacts.get(artifactId);
    if (before !== undefined) this.#count(before, -1);
    const held =
      append && before !== undefined
        ? before
        : { name: name ?? artifactId, parts: [], characters: 0 };
    appendParts(held.parts, parts);
    for (const part of parts) held.characters += lengthOf(part);
    this.#count(held, 1);
    if (this.#parts > maxParts) throw this.#tooMuch(`${maxParts} parts`);
    if (this.#characters > maxCharacters) throw this.#tooMuch(`${maxCharacters} characters`);
    this.#artifacts.set(artifactId, held);
  }

  #count({ parts, characters }: HeldArtifact, sign: 1 | -1): void {
    this.#parts += sign * parts.length;
    this.#characters += sign * characters;
  }

  #tooMuch(limit: string): LegateError {
    const message = `sub agent ${this.name} sent more than ${limit}; let it answer with less`;
    return new LegateError('PEER_INVALID', message);
  }

  #at(taskId: string, contextId: string): void {
    this.taskId ??= taskId;
    this.contextId ??= contextId;
  }
}

function lengthOf(part: Part): number {
  return part.text?.length ?? JSON.stringify(part).length;
}

/** Chunks that came one by one and the whole artifact have the same digest. */
function digestOf(parts: readonly Part[]): string {
  const content = JSON.stringify([joined(parts), parts.filter((part) => part.data !== undefined)]);
  return hash('sha256', content, 'base64url').slice(0, 16);
}

/** The parts of a message are paragraphs. */
function textOf(parts: readonly Part[]): string {
  const texts = parts.map((part) => part.text?.trim() ?? '');
  return texts.filter((text) => text !== '').join('\n\n');
}

/** The parts of an artifact may be pieces of one text. */
function joined(parts: readonly Part[]): string {
  return parts
    .map((part) => part.text ?? '')
    .join('')
    .trim();
}

function dataOf(name: string, parts: readonly Part[]): readonly StructuredResult[] {
  return parts.flatMap((part) => (part.data === undefined ? [] : [{ name, result: part.data }]));
}

function words(text: string): { readonly responseMessage?: string } {
  return text === '' ? {} : { responseMessage: text };
}

function results(found: readonly (readonly StructuredResult[])[]): {
  readonly structuredResults?: NonNullable<AgentOutput['structuredResults']>;
} {
  const filled = found.filter((list) => list.length > 0);
  return filled.length === 0 ? {} : { structuredResults: filled };
}
