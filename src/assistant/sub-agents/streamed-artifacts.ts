import type { Artifact } from '../../protocol/index.ts';
import { MessageStream } from '../actions/runner.ts';
import type { Call } from '../executor/call-handler.ts';
import type { AgentOutput } from './model.ts';

/**
 * Shows the text of a remote agent's artifacts to users while it arrives. All artifacts form one message,
 * separated by empty lines like in the complete answer.
 *
 * - **idle**: nothing was shown.
 * - **open**: chunks are passed on. If an artifact restarts, the message ends and another one starts:
 *   shown text can't be withdrawn.
 * - **ended**: the answer is complete. If it equals the shown text, it is not sent again.
 */
export class StreamedArtifacts {
  readonly #call: Pick<Call, 'isStreamed' | 'stream'>;
  readonly #stream: MessageStream;
  readonly #seen = new Set<string>();
  #current: string | undefined;
  #shown: { readonly id: string; readonly text: string } | undefined;

  constructor(call: Pick<Call, 'isStreamed' | 'stream'>) {
    this.#call = call;
    this.#stream = new MessageStream({
      show: call.stream,
      newId: () => crypto.randomUUID(),
      ended: ({ text = '', metadata }) => {
        const id = metadata?.['stream_id'];
        this.#shown = typeof id === 'string' ? { id, text } : undefined;
      },
    });
  }

  async add({
    artifact,
    append,
  }: {
    readonly artifact: Artifact;
    readonly append: boolean;
  }): Promise<void> {
    const text = artifact.parts.map((part) => part.text ?? '').join('');
    if (this.#call.isStreamed !== true || text === '') return;
    const { artifactId } = artifact;
    if (!append && this.#seen.has(artifactId)) {
      await this.#stream.end();
      this.#seen.clear();
    }
    const isNext = this.#stream.isOpen && this.#current !== artifactId;
    this.#seen.add(artifactId);
    this.#current = artifactId;
    await this.#stream.chunk(isNext ? `\n\n${text}` : text);
  }

  /** Ends the stream. Returns the output, marked as streamed if its message was shown. */
  async end(output: AgentOutput): Promise<AgentOutput> {
    await this.#stream.end();
    const { responseMessage } = output;
    if (this.#shown === undefined || responseMessage === undefined) return output;
    if (this.#shown.text.trim() !== responseMessage.trim()) return output;
    return { ...output, streamed: { id: this.#shown.id, text: responseMessage } };
  }
}
