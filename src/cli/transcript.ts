import { stringify } from 'yaml';
import {
  isTerminal,
  isTurnEnd,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
} from '../protocol/index.ts';
import {
  buttonsOf,
  isConversationState,
  plain,
  type ShownButton,
  shownParts,
} from './client/text.ts';
import { sessionStart } from './terminal.ts';

/** Maximum number of lines in the transcript. */
const maxLines = 2_000;

/** Streams the agent's messages to standard output, and keeps the transcript with its speakers. */
export class Transcript {
  readonly #lines: string[] = [];
  /** Ids of shown messages: snapshots repeat messages. */
  readonly #shown = new Set<string>();
  #isFirst = true;
  /** The artifact of the current line. */
  #artifactId: string | undefined;
  #line = '';
  /** Texts that were streamed in this answer: the final message can repeat them. */
  readonly #streamed = new Set<string>();
  #buttons: readonly ShownButton[] = [];

  /** Adds a message of the user. */
  add({ messageId, parts }: Message): void {
    this.#isFirst = true;
    this.#streamed.clear();
    this.#buttons = [];
    this.#shown.add(messageId);
    const text = parts.map(textOf).join(' ');
    // The shell sent it to start the conversation.
    if (text !== sessionStart) this.#keep(`you: ${text}`);
  }

  /** The buttons that were shown, in the order of their numbers. */
  get buttons(): readonly ShownButton[] {
    return this.#buttons;
  }

  /** Shows an event; returns the text of an interim status message. */
  take(response: StreamResponse): string | undefined {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if ('message' in response) return this.#showMessage(response.message);
    if ('artifactUpdate' in response) {
      const { artifact, append } = response.artifactUpdate;
      this.#pieces(artifact.artifactId, artifact.parts, append === true);
      return undefined;
    }
    if ('task' in response) {
      const { artifacts = [], status } = response.task;
      // Later snapshots repeat what earlier events contained.
      if (isFirst && isTerminal(status.state)) {
        for (const { artifactId, parts } of artifacts) this.#pieces(artifactId, parts, false);
      }
      const { state, message } = status;
      return isTurnEnd(state) ? this.#showMessage(message) : undefined;
    }
    const { state, message } = response.statusUpdate.status;
    if (isTurnEnd(state)) return this.#showMessage(message);
    if (message === undefined) return undefined;
    this.#shown.add(message.messageId);
    return message.parts.map(textOf).join(' ');
  }

  /** Records the messages of a past task without showing them. */
  recall({ history = [], status, artifacts = [] }: Task): void {
    const messages = status.message === undefined ? history : [...history, status.message];
    for (const { messageId, role, parts } of messages) {
      if (this.#shown.has(messageId)) continue;
      this.#shown.add(messageId);
      this.#keep(`${role === 'ROLE_USER' ? 'you' : 'agent'}: ${parts.map(textOf).join(' ')}`);
    }
    for (const { parts } of artifacts) this.#keep(`agent: ${parts.map(textOf).join('')}`);
  }

  show(write: (line: string) => void): void {
    for (const line of this.#lines) write(line);
  }

  clear(): void {
    this.#lines.length = 0;
  }

  /** Ends a line that a stream left open. */
  endLine(): void {
    if (this.#line === '') return;
    if (!this.#line.endsWith('\n')) process.stdout.write('\n');
    this.#keep(`agent: ${this.#line.trimEnd()}`);
    if (this.#artifactId !== undefined) this.#streamed.add(this.#line.trim());
    this.#line = '';
    this.#artifactId = undefined;
  }

  #showMessage(message: Message | undefined): undefined {
    if (message === undefined || this.#shown.has(message.messageId)) return undefined;
    this.#shown.add(message.messageId);
    this.endLine();
    const parts = message.parts.filter((part) => !isConversationState(part));
    for (const part of shownParts(parts, this.#streamed)) {
      this.#write(textOf(part));
      this.endLine();
      this.#offer(buttonsOf(part));
    }
    return undefined;
  }

  #offer(buttons: readonly ShownButton[]): void {
    for (const button of buttons) {
      this.#buttons = [...this.#buttons, button];
      this.#write(`  ${this.#buttons.length}) ${plain(button.title)}`);
      this.endLine();
    }
  }

  #pieces(artifactId: string, parts: readonly Part[], append: boolean): void {
    if (!append || this.#artifactId !== artifactId) this.endLine();
    for (const part of parts) {
      if (part.text === undefined) this.endLine();
      this.#write(textOf(part));
      if (part.text === undefined) this.endLine();
    }
    this.#artifactId = artifactId;
  }

  #write(text: string): void {
    this.#line += text;
    process.stdout.write(text);
  }

  #keep(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > maxLines) this.#lines.shift();
  }
}

/** Formats a part as text. */
function textOf({ text, raw, url, data, filename, mediaType }: Part): string {
  if (text !== undefined) return plain(text);
  if (data !== undefined) return plain(stringify(data).trimEnd());
  const size = raw === undefined ? url : `${Buffer.byteLength(raw, 'base64')} bytes`;
  return plain(`[${filename ?? 'file'}, ${mediaType ?? 'of unknown type'}, ${size ?? 'empty'}]`);
}
