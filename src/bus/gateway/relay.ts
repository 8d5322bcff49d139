import { type ArtifactChunk, type TurnEvent, working } from '../../agents/index.ts';
import {
  type Artifact,
  ContentMark,
  isInterrupted,
  isTerminal,
  type StreamResponse,
  type TaskArtifactUpdateEvent,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';

interface Told {
  readonly mark: ContentMark;
  isSealed: boolean;
}

/**
 * Turns what is told about a task on the bus into the events of a turn here. Updates may be lost,
 * and a message that was delivered again is told anew in a series of its own; the artifacts come out
 * whole all the same, for a snapshot or the result makes up for what was missed.
 */
export class Relay {
  readonly #told = new Map<string, Told>();
  #series: string | undefined;
  #next = 0;
  /** Something of this series was lost: its artifacts are told by the result. */
  #isLossy = false;
  #isWorking = false;

  *update(event: StreamResponse, series: string, sequence: number): Generator<TurnEvent> {
    if (series !== this.#series) {
      this.#series = series;
      this.#next = 0;
      this.#isLossy = false;
    }
    if (sequence < this.#next) return;
    if (sequence > this.#next) this.#isLossy = true;
    this.#next = sequence + 1;
    if ('statusUpdate' in event) yield* this.#status(event.statusUpdate);
    else if ('artifactUpdate' in event) yield* this.#artifact(event.artifactUpdate);
    else if ('task' in event) yield* this.artifacts(event.task.artifacts ?? [], false);
  }

  /** Tells what of these artifacts was not told yet; the last time, they are whole. */
  *artifacts(artifacts: readonly Artifact[], isLast: boolean): Generator<ArtifactChunk> {
    for (const artifact of artifacts) {
      const missing = this.#missing(artifact, isLast);
      if (missing !== undefined) yield missing;
    }
  }

  *#status({ status, metadata }: TaskStatusUpdateEvent): Generator<TurnEvent> {
    const { state, message } = status;
    // How a turn ends is told by its result.
    if (isTerminal(state) || isInterrupted(state)) return;
    if (message === undefined && metadata === undefined && this.#isWorking) return;
    this.#isWorking = true;
    yield working(message?.parts, metadata);
  }

  *#artifact(update: TaskArtifactUpdateEvent): Generator<TurnEvent> {
    if (this.#isLossy) return;
    const { artifact, append = false, lastChunk = false } = update;
    const told = this.#told.get(artifact.artifactId);
    if (told?.isSealed === true || (append && told === undefined)) {
      this.#isLossy = true;
      return;
    }
    if (append && told !== undefined) told.mark.add(artifact.parts);
    else this.#told.set(artifact.artifactId, toldOf(artifact));
    if (lastChunk) this.#seal(artifact.artifactId);
    yield { kind: 'chunk', artifact, append, lastChunk };
  }

  #missing(artifact: Artifact, lastChunk: boolean): ArtifactChunk | undefined {
    const told = this.#told.get(artifact.artifactId);
    if (told?.isSealed === true) return undefined;
    const rest = told?.mark.rest(artifact.parts);
    if (told === undefined || rest === undefined) {
      this.#told.set(artifact.artifactId, toldOf(artifact));
      return { kind: 'chunk', artifact, append: false, lastChunk };
    }
    if (rest.length === 0) return undefined;
    told.mark.add(rest);
    return { kind: 'chunk', artifact: { ...artifact, parts: rest }, append: true, lastChunk };
  }

  #seal(artifactId: string): void {
    const told = this.#told.get(artifactId);
    if (told !== undefined) told.isSealed = true;
  }
}

function toldOf({ parts }: Artifact): Told {
  return { mark: ContentMark.of(parts), isSealed: false };
}
