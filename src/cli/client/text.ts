import {
  appendParts,
  type Artifact,
  isJsonObject,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '../../protocol/index.ts';
import { alignColumns } from '../print.ts';

/**
 * Writes text that users can read and programs can parse (A2A CLI specification 11.2): one `Label: value`
 * per line. Longer values are blocks below their label, indented and closed by a blank line. In a
 * stream, the chunks of a text form one block that grows; any other event closes it.
 * Control characters from agents are removed.
 */
export class TextWriter {
  readonly #write: (text: string) => void;
  readonly #isVerbose: boolean;
  /** Task and artifact of the open block, or of the last one. */
  #artifact: string | undefined;
  /** The content of the open block; undefined when none is open. */
  #block: string | undefined;
  /** The state of the task, as last shown by an event. */
  #state: string | undefined;
  /** Texts that were streamed: the final message can repeat them. */
  readonly #streamed = new Set<string>();

  constructor(options: { readonly write: (text: string) => void; readonly isVerbose: boolean }) {
    this.#write = options.write;
    this.#isVerbose = options.isVerbose;
  }

  field(label: string, value: string | number | boolean | undefined): void {
    if (value === undefined || value === '') return;
    this.#write(`${label}: ${plain(String(value)).replaceAll(/\s*\n\s*/g, ' ')}\n`);
  }

  block(label: string, content: string): void {
    this.#write(`${label}:\n`);
    for (const line of plain(content).split('\n')) this.#write(`  ${line}\n`);
    this.blank();
  }

  /** Columns below their titles; cuts lines to the width of the terminal. */
  table(titles: readonly string[], rows: readonly (readonly string[])[]): void {
    if (rows.length === 0) return;
    const lines = [titles, ...rows].map((row) =>
      row.map((cell) => plain(cell).replaceAll(/\s+/g, ' ').trim()),
    );
    const columns = process.stdout.columns || 80;
    for (const row of alignColumns(lines)) {
      this.#write(`${row.length > columns ? `${row.slice(0, columns - 1)}…` : row}\n`);
    }
    this.blank();
  }

  blank(): void {
    this.#write('\n');
  }

  /** Shows the result; the history only on request. */
  task(
    task: Task,
    { withHistory = this.#isVerbose }: { readonly withHistory?: boolean } = {},
  ): void {
    this.status(task.id, task.contextId, task.status);
    if (withHistory) for (const message of task.history ?? []) this.message(message);
    if (task.status.message !== undefined) this.message(task.status.message);
    for (const artifact of task.artifacts ?? []) this.#showArtifact(artifact);
    this.#metadata(task.metadata);
  }

  /** The id and the state of a task. */
  status(taskId: string, contextId: string, status: TaskStatus): void {
    this.field('Task', taskId);
    this.field('Context', contextId);
    this.field('State', status.state);
    if (this.#isVerbose) this.field('Updated', status.timestamp);
  }

  message(message: Message): void {
    this.field('Message', message.role === 'ROLE_USER' ? 'user' : 'agent');
    if (this.#isVerbose) this.field('Message id', message.messageId);
    // Users see each text of an assistant as a separate message.
    for (const part of this.#isVerbose ? message.parts : shownParts(message.parts)) {
      this.#part(part);
    }
  }

  /** A message without a task. */
  reply(message: Message): void {
    this.field('Context', message.contextId);
    this.message(message);
  }

  /** One event of a stream; call `closeBlock` after the last. */
  event(response: StreamResponse): void {
    if ('artifactUpdate' in response) {
      const { taskId, artifact, append, lastChunk } = response.artifactUpdate;
      const { artifactId, name = artifactId } = artifact;
      const key = `${taskId}/${artifactId}`;
      // Ends a text whose last chunk was received before.
      if (
        append === true &&
        lastChunk === true &&
        artifact.parts.every(({ text }) => text === '')
      ) {
        if (this.#artifact === key) this.closeBlock();
        return;
      }
      if (append !== true || this.#artifact !== key) {
        this.closeBlock();
        this.#artifact = key;
        this.field('Artifact', name);
      }
      for (const part of artifact.parts) this.#chunk(part);
      if (lastChunk === true) this.closeBlock();
      return;
    }
    this.closeBlock();
    this.#artifact = undefined;
    if ('task' in response) {
      this.task(response.task);
      this.#state = response.task.status.state;
    } else if ('message' in response) {
      this.reply(response.message);
    } else {
      const { state, message } = response.statusUpdate.status;
      if (state !== this.#state) this.field('State', state);
      const parts = shownParts(message?.parts ?? [], this.#streamed);
      if (message !== undefined && parts.length > 0) this.message({ ...message, parts });
      this.#state = state;
    }
  }

  /** Closes the open block, so that other output can follow. */
  closeBlock(): void {
    if (this.#block === undefined) return;
    if (this.#block.trim() !== '') this.#streamed.add(this.#block.trim());
    this.#block = undefined;
    this.#write('\n\n');
  }

  #chunk(part: Part): void {
    if (part.text === undefined) {
      this.closeBlock();
      this.#parts([part]);
    } else if (part.text !== '') {
      if (this.#block === undefined) this.#write('Text:\n  ');
      this.#block = (this.#block ?? '') + part.text;
      this.#write(plain(part.text).replaceAll('\n', '\n  '));
    }
  }

  #showArtifact(artifact: Artifact): void {
    this.field('Artifact', artifact.name ?? artifact.artifactId);
    if (this.#isVerbose) {
      this.field('Artifact id', artifact.artifactId);
      this.field('Description', artifact.description);
    }
    this.#parts(artifact.parts);
  }

  #parts(parts: readonly Part[]): void {
    const joined: Part[] = [];
    // Agents can send one text as many parts.
    for (const part of shownParts(parts)) appendParts(joined, [part]);
    for (const part of this.#isVerbose ? parts : joined) this.#part(part);
  }

  #part(part: Part): void {
    const { text, raw, url, data, filename, mediaType } = part;
    if (text !== undefined || data !== undefined) {
      if (this.#isVerbose) this.field('Media type', mediaType);
      if (text === undefined) this.block('Data', JSON.stringify(data, undefined, 2));
      else this.block('Text', text);
    } else {
      const size = raw === undefined ? undefined : `${Buffer.byteLength(raw, 'base64')} bytes`;
      const facts = [mediaType, size, url].filter((fact) => fact !== undefined);
      this.field('File', `${filename ?? 'without a name'} (${facts.join(', ')})`);
    }
    for (const { title } of this.#isVerbose ? [] : buttonsOf(part)) this.field('Choice', title);
    this.#metadata(part.metadata);
  }

  #metadata(metadata: Part['metadata']): void {
    if (!this.#isVerbose || metadata === undefined) return;
    this.block('Metadata', JSON.stringify(metadata, undefined, 2));
  }
}

/**
 * The parts of a message to show to the user. Omits the state that assistants attach for orchestrators
 * (state, flow and slots as data), calls to confirm, which the question contains, and texts that were
 * streamed already.
 */
export function shownParts(
  parts: readonly Part[],
  streamed: ReadonlySet<string> = new Set(),
): readonly Part[] {
  // A message that contains only data is shown.
  if (parts.every(isConversationState)) return parts;
  return parts.filter(
    (part) => !isConversationState(part) && !streamed.has(part.text?.trim() ?? ''),
  );
}

/** Whether a part is for programs: the conversation state of an assistant, or a confirmation request. */
export function isConversationState({ data }: Part): boolean {
  if (!isJsonObject(data)) return false;
  const isState = typeof data['state'] === 'string' && isJsonObject(data['slots']);
  return isState || (data['request'] === 'confirmation' && typeof data['callId'] === 'string');
}

/** A button of an assistant. */
export interface ShownButton {
  readonly title: string;
  /** The message that the button sends. */
  readonly payload: string;
}

/** The buttons of an assistant's message. */
export function buttonsOf(part: Part): readonly ShownButton[] {
  const carrier = part.text === undefined ? part.data : part.metadata;
  const message = isJsonObject(carrier) ? carrier['message'] : undefined;
  const buttons = isJsonObject(message) ? message['buttons'] : undefined;
  if (!Array.isArray(buttons)) return [];
  return buttons.flatMap((button: unknown) => {
    if (!isJsonObject(button) || typeof button['title'] !== 'string') return [];
    const { title, payload } = button;
    return [{ title, payload: typeof payload === 'string' ? payload : title }];
  });
}

/** Control characters except line feeds and tabs, and marks that reorder text. */
const hidden = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(hidden, '');
}

/** `TASK_STATE_INPUT_REQUIRED` as `input required`. */
export function stateWords(state: string): string {
  return state
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', ' ');
}
