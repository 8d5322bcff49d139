import { isJsonObject, type Task } from '../../protocol/index.ts';

/**
 * What a caller has to keep of a task of another agent, so that any process can go on with it.
 *
 * - **sending**: the message may have reached the agent; its task is not known yet.
 * - **working**: the task is known, and the agent works on it.
 * - **asking**: the task waits for an answer or for consent.
 * @example
 * const point = readResumePoint(await turn.journal?.read('remote'));
 */
export type ResumePoint = {
  /** The version of this format. */
  readonly v: 1;
  readonly state: 'sending' | 'working' | 'asking';
  /** The message that was sent last. */
  readonly messageId: string;
  readonly taskId?: string;
  readonly contextId?: string;
  /** The id of the question that is open or being answered. */
  readonly question?: string;
  /** Whether the question asks for consent, which may be given elsewhere. */
  readonly needsConsent?: true;
  /** Marks of the artifacts that were passed on, by artifact id. */
  readonly told: Readonly<Record<string, string>>;
};

const states = ['sending', 'working', 'asking'] as const;

/**
 * Reads a stored resume point; undefined for everything else.
 * @example const point = readResumePoint(JSON.parse(await readFile('task.json', 'utf8')));
 */
export function readResumePoint(value: unknown): ResumePoint | undefined {
  if (!isJsonObject(value) || value['v'] !== 1) return undefined;
  const { messageId, taskId, contextId, question, needsConsent } = value;
  const state = states.find((each) => each === value['state']);
  if (state === undefined || typeof messageId !== 'string') return undefined;
  return {
    v: 1,
    state,
    messageId,
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof contextId === 'string' && { contextId }),
    ...(typeof question === 'string' && { question }),
    ...(needsConsent === true && { needsConsent }),
    told: readTold(value['told']),
  };
}

/**
 * Reads stored marks of artifacts; what is no mark is left out.
 * @example const point: ResumePoint = { v: 1, state: 'working', messageId, taskId, told: readTold(kept) };
 */
export function readTold(value: unknown): ResumePoint['told'] {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([id, mark]) => (typeof mark === 'string' ? [[id, mark]] : [])),
  );
}

/**
 * Tells a question that comes twice from two questions.
 * @example if (questionIdOf(task) === point.question) console.log('still asks the same');
 */
export function questionIdOf({ id, status }: Pick<Task, 'id' | 'status'>): string {
  return status.message?.messageId ?? `${id} ${status.timestamp ?? ''}`;
}
