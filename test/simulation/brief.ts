import type { Admission, Append, LogEvent } from '../../src/store/index.ts';

const maxLength = 160;

/** What a store was asked, in few words. */
export function briefInput(input: readonly unknown[]): string {
  return input.map((item) => describe(item)).join(' ');
}

/** What a store answered, in few words. */
export function briefResult(result: unknown): string {
  return result === undefined ? '-' : describe(result);
}

function describe(item: unknown): string {
  if (isAppend(item)) return describeAppend(item);
  if (isAdmission(item)) {
    return `${item.task === undefined ? 'more for' : 'new'} ${item.taskId} in ${item.contextId}${item.push === undefined ? '' : ' with push'}`;
  }
  if (Array.isArray(item) && item.length > 0 && item.every(isEvent)) {
    return `[${item.map(describeEvent).join(' ')}]`;
  }
  const text = JSON.stringify(item, (key, value: unknown) =>
    ['request', 'snapshot', 'owner', 'tail', 'agent'].includes(key) ? undefined : value,
  );
  return text.length > maxLength ? `${text.slice(0, maxLength)}...` : text;
}

function describeAppend(append: Append): string {
  const { taskId, version, events, state, turn, endsTurn, reply, context } = append;
  return [
    `${taskId}@${version}`,
    ...events.map(describeEvent),
    state.replace('TASK_STATE_', '').toLowerCase(),
    turn === undefined ? '' : `turn ${turn.id}`,
    endsTurn === true ? 'ends' : '',
    reply === undefined ? '' : 'reply',
    context === undefined ? '' : `context ${JSON.stringify(context.value?.value)}`,
  ]
    .filter((word) => word !== '')
    .join(' ');
}

function describeEvent({ sequence, body }: LogEvent): string {
  const event = body.value;
  if ('statusUpdate' in event) {
    return `${sequence}:${event.statusUpdate.status.state.replace('TASK_STATE_', '').toLowerCase()}`;
  }
  if ('message' in event) return `${sequence}:${event.message.messageId}`;
  return `${sequence}:${'task' in event ? 'task' : 'artifact'}`;
}

function isAppend(item: unknown): item is Append {
  return typeof item === 'object' && item !== null && 'events' in item && 'version' in item;
}

function isAdmission(item: unknown): item is Admission {
  return typeof item === 'object' && item !== null && 'maxContexts' in item;
}

function isEvent(item: unknown): item is LogEvent {
  return typeof item === 'object' && item !== null && 'sequence' in item && 'body' in item;
}
