import { isJsonObject, type Task } from '../../protocol/index.ts';

/**
 * The state of a task of another agent that its caller stores, so that any process can continue the task.
 *
 * - **sending**: the message may have reached the agent; its task is not known yet.
 * - **working**: the task is known, and the agent works on it.
 * - **asking**: the task waits for input or for authorization.
 * @example
 * const point = readResumePoint(await turn.journal?.read('remote'));
 */
export type ResumePoint = {
  /** The version of this format; version 1 had `told` for `delivered`. */
  readonly v: 2;
  readonly state: 'sending' | 'working' | 'asking';
  /** The id of the last message that was sent. */
  readonly messageId: string;
  readonly taskId?: string;
  readonly contextId?: string;
  /** The id of the question that is open or being answered. */
  readonly question?: string;
  /** Whether the question asks for authorization, which can be given elsewhere. */
  readonly needsConsent?: true;
  /** Marks of the delivered artifacts, by artifact id. */
  readonly delivered: Readonly<Record<string, string>>;
};

const states = ['sending', 'working', 'asking'] as const;

/**
 * Reads a stored resume point; undefined for other values.
 * @example const point = readResumePoint(JSON.parse(await readFile('task.json', 'utf8')));
 */
export function readResumePoint(value: unknown): ResumePoint | undefined {
  if (!isJsonObject(value) || (value['v'] !== 1 && value['v'] !== 2)) return undefined;
  const { messageId, taskId, contextId, question, needsConsent } = value;
  const state = states.find((each) => each === value['state']);
  if (state === undefined || typeof messageId !== 'string') return undefined;
  return {
    v: 2,
    state,
    messageId,
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof contextId === 'string' && { contextId }),
    ...(typeof question === 'string' && { question }),
    ...(needsConsent === true && { needsConsent }),
    delivered: readMarks(value['delivered'] ?? value['told']),
  };
}

/**
 * Reads stored artifact marks; ignores other values.
 * @example const delivered = readMarks(JSON.parse(await readFile('marks.json', 'utf8')));
 */
export function readMarks(value: unknown): ResumePoint['delivered'] {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([id, mark]) => (typeof mark === 'string' ? [[id, mark]] : [])),
  );
}

/**
 * The identity of a question: the same question has the same id each time it arrives.
 * @example if (questionIdOf(task) === point.question) console.log('still asks the same');
 */
export function questionIdOf({ id, status }: Pick<Task, 'id' | 'status'>): string {
  return status.message?.messageId ?? `${id} ${status.timestamp ?? ''}`;
}
