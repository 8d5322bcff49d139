import { type Artifact, LegateError, type Part, partSize, TaskFold } from '../protocol/index.ts';
import type { TurnEnd, TurnEvent } from './agent.ts';

/** Maximum output that one agent passes to another, in characters. */
const maxOutputSize = 4 * 1024 * 1024;
const ids = { taskId: '', contextId: '' };

/** The output of a turn, accumulated from its events for another agent. */
export class TurnOutput {
  /** Only its artifacts are used. */
  readonly #fold = new TaskFold({ id: '', contextId: '', status: { state: 'TASK_STATE_WORKING' } });
  #size = 0;
  #endParts: readonly Part[] = [];

  add(event: TurnEvent): void {
    if (!('kind' in event)) this.#put(event, false);
    else if (event.kind === 'chunk') this.#put(event.artifact, event.append);
    else if (event.kind !== 'working') this.#endParts = event.parts ?? [];
  }

  /** The artifacts in the order of their first chunks; those of parallel branches in branch order. */
  artifacts(): readonly Artifact[] {
    return inBranchOrder(this.#fold.toTask().artifacts ?? []);
  }

  /** The parts of the artifacts, then the parts of the end. */
  parts(): readonly Part[] {
    return joinSections(this.#sections());
  }

  #sections(): readonly (readonly Part[])[] {
    return [...this.artifacts().map(({ parts }) => parts), this.#endParts];
  }

  text(): string {
    return this.#sections()
      .flat()
      .flatMap(({ text }) => (text === undefined || text === '' ? [] : [text]))
      .join('\n');
  }

  #put(artifact: Artifact, append: boolean): void {
    for (const part of artifact.parts) this.#size += partSize(part);
    if (this.#size > maxOutputSize) {
      throw new LegateError(
        'INVALID_AGENT_RESPONSE',
        `an agent made more than ${maxOutputSize} characters for another to use`,
      );
    }
    this.#fold.apply({ artifactUpdate: { ...ids, artifact, append } });
  }
}

/** Sorts artifacts of branches by branch; others keep their place. */
export function inBranchOrder(artifacts: readonly Artifact[]): readonly Artifact[] {
  return artifacts.toSorted((one, other) => branchOf(one) - branchOf(other));
}

/**
 * Joins the parts of several artifacts or messages. Starts the text of each section on a new line,
 * since readers concatenate the text of all parts.
 */
export function joinSections(sections: readonly (readonly Part[])[]): readonly Part[] {
  const joined: Part[] = [];
  for (const [first, ...rest] of sections) {
    if (first === undefined) continue;
    const { text } = first;
    const needsLine = text !== undefined && /\S$/.test(joined.at(-1)?.text ?? '');
    joined.push(needsLine ? { ...first, text: `\n${text}` } : first, ...rest);
  }
  return joined;
}

function branchOf(artifact: Artifact): number {
  const branch = artifact.metadata?.['branch'];
  return typeof branch === 'number' ? branch : 0;
}

/** An event before the end of a turn. */
export type ProgressEvent = Exclude<TurnEvent, TurnEnd | { kind: 'message' }>;

export function isEnd(event: TurnEvent): event is Exclude<TurnEvent, ProgressEvent> {
  return 'kind' in event && event.kind !== 'chunk' && event.kind !== 'working';
}
