import { message, type Message, type Part } from '../../../src/protocol/index.ts';
import { TalkTurn } from './turn.ts';

/** A turn with a remote agent, kept across a reload: by its task, or with the messages if it has none. */
export type KeptTurn =
  | { readonly taskId: string }
  | { readonly message: Message; readonly answers: readonly (readonly Part[])[] };

/** Characters of kept messages, as JSON; the storage of a page has about five million. */
const maxCharacters = 1_000_000;

/** The turns to keep: each task once; the oldest messages are dropped beyond the limit. */
export function keptTurns(turns: readonly TalkTurn[]): readonly KeptTurn[] {
  const kept: KeptTurn[] = [];
  const tasks = new Set<string>();
  let left = maxCharacters;
  for (const turn of turns.toReversed()) {
    const { taskId } = turn;
    if (taskId !== undefined) tasks.add(taskId);
    else if (!turn.isOpen) {
      const one = { message: turn.message, answers: turn.outputs.map(({ parts }) => parts) };
      left -= JSON.stringify(one).length;
      if (left >= 0) kept.unshift(one);
      continue;
    } else continue;
    const isFirst = turns.find((each) => each.taskId === taskId) === turn;
    if (isFirst) kept.unshift({ taskId });
  }
  return kept;
}

/** The turn of a message that was answered without a task. */
export function turnOf(
  { message: said, answers }: Extract<KeptTurn, { readonly message: Message }>,
  number: number,
): TalkTurn {
  const turn = new TalkTurn(number, said);
  for (const parts of answers) turn.take({ message: message(parts, { role: 'ROLE_AGENT' }) });
  turn.settle({});
  return turn;
}
