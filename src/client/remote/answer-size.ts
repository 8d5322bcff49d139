import { type Artifact, LegateError, type Message, type Part } from '../../protocol/index.ts';

/**
 * Limits of one answer. An answer beyond them is an error (`PEER_INVALID`); it is never truncated
 * silently.
 * @example remoteAgent(url, { limits: { characters: 1_000_000 } });
 */
export interface AnswerLimits {
  /** Parts of all artifacts. Text that is appended to text adds no part. @default 100_000 */
  readonly parts?: number;
  /**
   * Characters of artifacts, messages, progress and metadata; data and files count as JSON.
   * @default 33_554_432
   */
  readonly characters?: number;
}

interface Size {
  readonly parts: number;
  readonly characters: number;
}

const nothing: Size = { parts: 0, characters: 0 };

/** The size of an answer in memory. Counts the additions of each event; throws beyond the limits. */
export class AnswerSize {
  readonly #limits: Required<AnswerLimits>;
  /** By artifact or metadata member: a later value replaces the size of the earlier one. */
  readonly #sizes = new Map<string, Size>();
  #total = nothing;

  constructor({ parts = 100_000, characters = 32 * 1024 * 1024 }: AnswerLimits = {}) {
    this.#limits = { parts, characters };
  }

  /** Counts an artifact event. `partCount`: the parts of the artifact after the event. */
  artifact(artifact: Artifact, append: boolean, partCount: number): void {
    const { artifactId, parts, metadata, ...head } = artifact;
    const key = `artifact ${artifactId}`;
    const known = append ? this.#sizes.get(key) : undefined;
    const before = known?.characters ?? JSON.stringify({ artifactId, ...head }).length;
    const added = parts.reduce((sum, part) => sum + lengthOf(part), 0);
    this.#set(key, { parts: partCount, characters: before + added });
    this.metadata(metadata, `${JSON.stringify(artifactId)} `);
  }

  /** Counts metadata that is merged into that of the task, or of an artifact. */
  metadata(metadata: object | undefined, prefix = ''): void {
    for (const [name, value] of Object.entries(metadata ?? {})) {
      const characters = name.length + JSON.stringify(value).length;
      this.#set(`metadata ${prefix}${name}`, { parts: 0, characters });
    }
  }

  /** Counts a message that is added to the history. */
  message(message: Message | undefined): void {
    if (message === undefined) return;
    const { characters } = this.#sizes.get('messages') ?? nothing;
    this.#set('messages', { parts: 0, characters: characters + sizeOf(message) });
  }

  /** Counts all messages, which replace the earlier ones. */
  messages(messages: readonly Message[]): void {
    const characters = messages.reduce((sum, message) => sum + sizeOf(message), 0);
    this.#set('messages', { parts: 0, characters });
  }

  #set(key: string, size: Size): void {
    const before = this.#sizes.get(key) ?? nothing;
    this.#sizes.set(key, size);
    this.#total = {
      parts: this.#total.parts + size.parts - before.parts,
      characters: this.#total.characters + size.characters - before.characters,
    };
    const { parts, characters } = this.#limits;
    if (this.#total.parts > parts) throw tooMuch(parts, 'parts');
    if (this.#total.characters > characters) throw tooMuch(characters, 'characters');
  }
}

function sizeOf({ parts, ...rest }: Message): number {
  return parts.reduce((sum, part) => sum + lengthOf(part), JSON.stringify(rest).length);
}

function lengthOf(part: Part): number {
  const isText = part.text !== undefined && part.metadata === undefined;
  return isText ? part.text.length : JSON.stringify(part).length;
}

function tooMuch(limit: number, unit: keyof AnswerLimits): LegateError {
  return new LegateError(
    'PEER_INVALID',
    `the agent sent more than ${limit} ${unit} in one task; let it answer with less, or raise limits.${unit} (remoteAgent, joinPeers)`,
  );
}
