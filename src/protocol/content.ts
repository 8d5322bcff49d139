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
 * What an agent answered, by kind.
 * @example const table = ({ data }: AnswerContent) => data[0];
 */
export interface AnswerContent {
  readonly text: string;
  /** The values of all data parts. */
  readonly data: readonly JsonValue[];
  /** All parts with bytes or an address. */
  readonly files: readonly Part[];
  /** The value of the only data part; without data, the text. */
  readonly output: JsonValue;
}

/**
 * What a task has come to: all that was made for it and its last message, or of an open question only
 * the question.
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

/** The start of a text, with a mark where it is cut. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/** The characters of a part's content; bytes count as their base64 text. */
export function partSize({ text, raw, url, data }: Part): number {
  return (text ?? raw ?? url)?.length ?? JSON.stringify(data).length;
}
