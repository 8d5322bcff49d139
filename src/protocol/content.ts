import { isInterrupted, type JsonValue, type Message, type Part, type Task } from './model.ts';

/**
 * The text of a message or of a task. Text of one message or artifact is joined as it is; the
 * artifacts of a task and its last status message are lines.
 * @example const words = textOf(turn.message);
 */
export function textOf(
  source: Pick<Message, 'parts'> | Pick<Task, 'artifacts' | 'status'>,
): string {
  if ('parts' in source) return source.parts.map((part) => part.text ?? '').join('');
  const { artifacts = [], status } = source;
  const sections = status.message === undefined ? artifacts : [...artifacts, status.message];
  return sections
    .map((section) => textOf(section))
    .filter((each) => each !== '')
    .join('\n');
}

/**
 * The answer of an agent, by kind of content.
 * @example const table = ({ data }: AnswerContent) => data[0];
 */
export interface AnswerContent {
  readonly text: string;
  /** The values of all data parts. */
  readonly data: readonly JsonValue[];
  /** All parts with bytes or a URL. */
  readonly files: readonly Part[];
  /** The value of the only data part, a list of the values of several, or the text if there are none. */
  readonly output: JsonValue;
}

/**
 * The content of a task's answer: its artifacts and its last message, or only the question if the task is
 * interrupted.
 */
export function answerOf({
  artifacts = [],
  status,
}: Pick<Task, 'artifacts' | 'status'>): AnswerContent {
  const { parts: last = [] } = status.message ?? {};
  if (isInterrupted(status.state)) return contentOf(textOf({ parts: last }), last);
  const parts = [...artifacts.flatMap((artifact) => artifact.parts), ...last];
  return contentOf(textOf({ artifacts, status }), parts);
}

/** Sorts the content of an answer by kind. */
export function contentOf(text: string, parts: readonly Part[]): AnswerContent {
  const data = parts.flatMap((part) => (part.data === undefined ? [] : [part.data]));
  const files = parts.filter(({ raw, url }) => raw !== undefined || url !== undefined);
  const [only = text] = data;
  return { text, data, files, output: data.length > 1 ? data : only };
}

/** A value as text: a string as it is, other values as JSON. */
export function textOfValue(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The start of a text; `…` marks a cut. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/** The length of a part's content in characters; bytes count as base64. */
export function partSize({ text, raw, url, data }: Part): number {
  return (text ?? raw ?? url)?.length ?? JSON.stringify(data).length;
}
