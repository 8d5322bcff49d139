import type { TranscriptView } from '../../../src/http/inspector/model.ts';
import { type JsonObject, message, type Part, type Task } from '../../../src/protocol/index.ts';
import { conversationTurns, objectOf } from '../assistant/conversation-turns.ts';
import { textIn } from '../ui/text.ts';
import { TalkTurn } from './turn.ts';

interface History {
  /** The assistant's messages before the first message of the user. */
  readonly welcome: TalkTurn | undefined;
  readonly turns: readonly TalkTurn[];
}

/**
 * The turns of a stored conversation: an assistant's from its tracker, other agents' from their tasks.
 */
export function historyOf({ tracker, tasks, summary }: TranscriptView): History {
  if (tracker === undefined) {
    const turns: TalkTurn[] = [];
    for (const task of tasks) turns.push(...turnsOfTask(task, turns.length));
    return { welcome: undefined, turns };
  }
  const known = conversationTurns(tracker).map(({ number, text, events }) => {
    const user = events.find(({ event }) => event === 'user');
    const messageId = textIn(user?.['message_id']) || crypto.randomUUID();
    const turn = new TalkTurn(number, message(text, { messageId, contextId: summary.id }));
    for (const event of events) {
      if (event['event'] === 'bot') turn.take({ message: botMessage(event, summary.id) });
    }
    turn.settle(taskOf(tasks, messageId));
    return turn;
  });
  const [first] = known;
  const welcome = first?.number === 0 && first.outputs.length > 0 ? first : undefined;
  return { welcome, turns: known.filter(({ number }) => number > 0) };
}

/** Converts a logged message of an assistant; its buttons go where a live message has them. */
function botMessage({ text, data }: JsonObject, contextId: string) {
  const { buttons, quick_replies: quickReplies, ...rest } = objectOf(data);
  const extras = {
    ...(Array.isArray(buttons) && { buttons }),
    ...(quickReplies && { quickReplies }),
  };
  const others = Object.entries(rest).filter(([, value]) => value !== null);
  const parts: Part[] = [
    {
      text: textIn(text),
      ...(Object.keys(extras).length > 0 && { metadata: { message: extras } }),
    },
    ...(others.length > 0 ? [{ data: Object.fromEntries(others) }] : []),
  ];
  return message(parts, { role: 'ROLE_AGENT', contextId });
}

/** The task of a message; only the last message of a task has its state. */
function taskOf(
  tasks: readonly Task[],
  messageId: string,
): { readonly taskId?: string; readonly state?: Task['status']['state'] } {
  for (const { id, status, history = [] } of tasks) {
    const own = history.filter(({ role }) => role === 'ROLE_USER').map((one) => one.messageId);
    if (!own.includes(messageId)) continue;
    const isLast = own.at(-1) === messageId;
    return { taskId: id, state: isLast ? status.state : 'TASK_STATE_INPUT_REQUIRED' };
  }
  return {};
}

/** `before`: the number of turns before those of the task. */
export function turnsOfTask(task: Task, before: number): readonly TalkTurn[] {
  const { history = [], status } = task;
  const starts = history.flatMap(({ role }, index) => (role === 'ROLE_USER' ? [index] : []));
  return starts.flatMap((start, index) => {
    const own = history[start];
    if (own === undefined) return [];
    const end = starts[index + 1];
    const turn = new TalkTurn(before + index + 1, own);
    const isLast = end === undefined;
    const part = isLast
      ? task
      : {
          id: task.id,
          contextId: task.contextId,
          status: { state: 'TASK_STATE_INPUT_REQUIRED' as const },
        };
    turn.take({ task: { ...part, history: history.slice(start, end) } });
    turn.settle({ taskId: task.id, state: isLast ? status.state : 'TASK_STATE_INPUT_REQUIRED' });
    return [turn];
  });
}
