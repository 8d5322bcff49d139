import type { Artifact, Message, Part, Task, TaskStatus } from '../../protocol/index.ts';
import { buttonsOf, shownParts } from './shown-parts.ts';

/**
 * Text for people that programs can parse too (A2A CLI specification 11.2): one `Label: value` a
 * line; longer values are blocks below their label, indented and closed by a blank line.
 * Control sequences from agents are escaped.
 */
export class TextWriter {
  readonly #write: (line: string) => void;
  readonly #isVerbose: boolean;

  constructor(options: { readonly write: (line: string) => void; readonly isVerbose: boolean }) {
    this.#write = options.write;
    this.#isVerbose = options.isVerbose;
  }

  field(label: string, value: string | number | boolean | undefined): void {
    if (value === undefined || value === '') return;
    this.#write(`${label}: ${plain(String(value)).replaceAll(/\s*\n\s*/g, ' ')}`);
  }

  block(label: string, content: string): void {
    this.#write(`${label}:`);
    for (const line of plain(content).split('\n')) this.#write(`  ${line}`);
    this.#write('');
  }

  blank(): void {
    this.#write('');
  }

  /** Shows the result; the history only on request. */
  task(
    task: Task,
    { withHistory = this.#isVerbose }: { readonly withHistory?: boolean } = {},
  ): void {
    this.place(task.id, task.contextId, task.status);
    if (withHistory) for (const message of task.history ?? []) this.message(message);
    if (task.status.message !== undefined) this.message(task.status.message);
    for (const artifact of task.artifacts ?? []) this.artifact(artifact);
    if (this.#isVerbose && task.metadata !== undefined) {
      this.block('Metadata', JSON.stringify(task.metadata, undefined, 2));
    }
  }

  /** The id and the state of a task. */
  place(taskId: string, contextId: string, status: TaskStatus): void {
    this.field('Task', taskId);
    this.field('Context', contextId);
    this.field('State', status.state);
    if (this.#isVerbose) this.field('Updated', status.timestamp);
  }

  message(message: Message): void {
    this.field('Message', message.role === 'ROLE_USER' ? 'user' : 'agent');
    if (this.#isVerbose) this.field('Message id', message.messageId);
    this.parts(message.parts);
  }

  artifact(artifact: Artifact): void {
    this.field('Artifact', artifact.name ?? artifact.artifactId);
    if (this.#isVerbose) {
      this.field('Artifact id', artifact.artifactId);
      this.field('Description', artifact.description);
    }
    this.parts(artifact.parts);
  }

  parts(parts: readonly Part[]): void {
    for (const part of this.#isVerbose ? parts : joined(shownParts(parts))) this.#part(part);
  }

  /** A message without a task. */
  reply(message: Message): void {
    this.field('Context', message.contextId);
    this.message(message);
  }

  #part(part: Part): void {
    const { text, raw, url, data, filename, mediaType } = part;
    if (text !== undefined) {
      if (this.#isVerbose) this.field('Media type', mediaType);
      this.block('Text', text);
    } else if (data !== undefined) {
      if (this.#isVerbose) this.field('Media type', mediaType);
      this.block('Data', JSON.stringify(data, undefined, 2));
    } else {
      const size = raw === undefined ? undefined : `${Buffer.byteLength(raw, 'base64')} bytes`;
      const facts = [mediaType, size, url].filter((fact) => fact !== undefined);
      this.field('File', `${filename ?? 'without a name'} (${facts.join(', ')})`);
    }
    for (const { title } of this.#isVerbose ? [] : buttonsOf(part)) this.field('Choice', title);
    if (this.#isVerbose && part.metadata !== undefined) {
      this.block('Metadata', JSON.stringify(part.metadata, undefined, 2));
    }
  }
}

/** Joins the chunks of one text. */
function joined(parts: readonly Part[]): readonly Part[] {
  const result: Part[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (last?.text !== undefined && part.text !== undefined && isBare(last) && isBare(part)) {
      result[result.length - 1] = { text: last.text + part.text };
    } else {
      result.push(part);
    }
  }
  return result;
}

function isBare({ filename, mediaType, metadata }: Part): boolean {
  return filename === undefined && mediaType === undefined && metadata === undefined;
}

/** Keeps line feeds and tabs; escapes other control characters and marks that reorder text. */
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
