import { isTerminal, type StreamResponse } from '../../../src/protocol/index.ts';

/**
 * The rules across the events of one task, beyond the validity of each event: needs all events from
 * the first on.
 */
export class SequenceCheck {
  #taskId: string | undefined;
  #contextId: string | undefined;
  #hasEnded = false;
  #count = 0;
  readonly #artifacts = new Map<string, 'open' | 'sealed'>();

  /** The problems of this event, given all previous ones. */
  add(event: StreamResponse): readonly string[] {
    this.#count += 1;
    const problems: string[] = [];
    if (this.#hasEnded) problems.push('comes after the task has ended');
    if ('message' in event) this.#message(event, problems);
    else if ('task' in event) this.#task(event, problems);
    else if ('statusUpdate' in event) this.#status(event, problems);
    else this.#artifact(event, problems);
    return problems;
  }

  #message({ message }: Extract<StreamResponse, { message: unknown }>, problems: string[]): void {
    // In a stored log, a caller's follow-up is a message too.
    if (message.role === 'ROLE_USER' && this.#taskId !== undefined) return;
    if (message.role !== 'ROLE_AGENT') problems.push('message.role: an agent speaks as ROLE_AGENT');
    if (this.#count > 1) problems.push('a message is the only event of its stream');
  }

  #task({ task }: Extract<StreamResponse, { task: unknown }>, problems: string[]): void {
    this.#sameTask(task.id, task.contextId, problems);
    for (const { artifactId } of task.artifacts ?? []) this.#artifacts.set(artifactId, 'open');
    if (isTerminal(task.status.state)) this.#hasEnded = true;
  }

  #status(
    { statusUpdate }: Extract<StreamResponse, { statusUpdate: unknown }>,
    problems: string[],
  ): void {
    const { taskId, contextId, status } = statusUpdate;
    this.#first(problems);
    this.#sameTask(taskId, contextId, problems);
    if (status.message !== undefined && status.message.role !== 'ROLE_AGENT') {
      problems.push('statusUpdate.status.message.role: an agent speaks as ROLE_AGENT');
    }
    if (isTerminal(status.state)) this.#hasEnded = true;
  }

  #artifact(
    { artifactUpdate }: Extract<StreamResponse, { artifactUpdate: unknown }>,
    problems: string[],
  ): void {
    const { taskId, contextId, artifact, append, lastChunk } = artifactUpdate;
    const known = this.#artifacts.get(artifact.artifactId);
    this.#first(problems);
    this.#sameTask(taskId, contextId, problems);
    if (append === true && known === undefined) {
      problems.push(`artifactUpdate.append: there is no artifact ${artifact.artifactId} to extend`);
    }
    if (append === true && known === 'sealed') {
      problems.push('artifactUpdate.append: its last chunk came before');
    }
    this.#artifacts.set(artifact.artifactId, lastChunk === true ? 'sealed' : 'open');
  }

  #first(problems: string[]): void {
    if (this.#count === 1) problems.push('a stream begins with the task or a message');
  }

  #sameTask(taskId: string, contextId: string, problems: string[]): void {
    if (this.#taskId !== undefined && taskId !== this.#taskId) problems.push('is of another task');
    if (this.#contextId !== undefined && contextId !== this.#contextId) {
      problems.push('is of another context');
    }
    this.#taskId = taskId;
    this.#contextId = contextId;
  }
}
