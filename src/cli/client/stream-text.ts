import type { Part, StreamResponse } from '../../protocol/index.ts';
import { shownParts } from './shown-parts.ts';
import { plain, TextWriter } from './text.ts';

/**
 * A stream as text for people (A2A CLI specification 11.2): the chunks of a text form one block that
 * grows; any other event closes it.
 */
export class StreamText {
  readonly #write: (text: string) => void;
  readonly #text: TextWriter;
  /** Task and artifact of the open block, or of the last one. */
  #artifact: string | undefined;
  /** The content of the open block; undefined when none is open. */
  #block: string | undefined;
  #state: string | undefined;
  /** Texts that were shown: the final message may repeat them. */
  readonly #shown = new Set<string>();

  constructor(options: { readonly write: (text: string) => void; readonly isVerbose: boolean }) {
    const { write, isVerbose } = options;
    this.#write = write;
    this.#text = new TextWriter({ write: (line) => write(`${line}\n`), isVerbose });
  }

  event(response: StreamResponse): void {
    if ('artifactUpdate' in response) {
      const { taskId, artifact, append, lastChunk } = response.artifactUpdate;
      const { artifactId, name = artifactId } = artifact;
      const key = `${taskId}/${artifactId}`;
      if (append !== true || this.#artifact !== key) this.#open(key, name);
      for (const part of artifact.parts) this.#part(part);
      if (lastChunk === true) this.close();
      return;
    }
    this.close();
    this.#artifact = undefined;
    if ('task' in response) this.#text.task(response.task);
    else if ('message' in response) this.#text.reply(response.message);
    else {
      const { state, message } = response.statusUpdate.status;
      if (state !== this.#state) this.#text.field('State', state);
      if (message !== undefined) {
        const parts = shownParts(message.parts, this.#shown);
        if (parts.length > 0) this.#text.message({ ...message, parts });
      }
    }
    this.#state = stateOf(response) ?? this.#state;
  }

  /** Closes the open block, so that other output can follow. */
  close(): void {
    if (this.#block === undefined) return;
    if (this.#block.trim() !== '') this.#shown.add(this.#block.trim());
    this.#block = undefined;
    this.#write('\n\n');
  }

  #open(artifact: string, name: string): void {
    this.close();
    this.#artifact = artifact;
    this.#text.field('Artifact', name);
  }

  #part(part: Part): void {
    if (part.text === undefined) {
      this.close();
      this.#text.parts([part]);
    } else if (part.text !== '') {
      if (this.#block === undefined) this.#write('Text:\n  ');
      this.#block = (this.#block ?? '') + part.text;
      this.#write(plain(part.text).replaceAll('\n', '\n  '));
    }
  }
}

function stateOf(response: StreamResponse): string | undefined {
  if ('task' in response) return response.task.status.state;
  return 'statusUpdate' in response ? response.statusUpdate.status.state : undefined;
}
