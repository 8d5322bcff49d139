import type { CommandEnd, CommandStore, TurnRecord } from '../contract.ts';
import { startNext } from './append.ts';
import type { Tables } from './tables.ts';

/** Turns without a task. */
export function sqliteCommands(tables: Tables): CommandStore {
  const { turns, tasks, records, contexts, commits } = tables;
  return {
    queue: ({ id: taskId, agent, key, replica, request }) => {
      let id: number | undefined;
      return commits.write(() => {
        id ??= turns.nextId();
        const running = !turns.open.isBusy(key);
        const turn = { id, key, taskId, attempt: 1 };
        turns.insert({ ...turn, agent, replica: running ? replica : undefined }, request);
        return { turn: { ...turn, request }, running };
      });
    },
    end: ({ turn: { id }, replica, context, records: writes, now }) =>
      commits.write((): CommandEnd => {
        const turn = turns.open.get(id);
        if (turn?.replica !== replica) return { kind: 'fenced' };
        if (writes !== undefined) {
          if (!records.holds(writes, now)) return { kind: 'version-conflict' };
          records.apply(writes, now);
        }
        if (context !== undefined) contexts.write({ ...context, now });
        turns.end(turn);
        return { kind: 'ended', ...nextOf(tables, turn.key, replica) };
      }),
    drop: (key, replica) =>
      commits.write(() => {
        const dropped = turns.open
          .ofKey(key)
          .filter(({ taskId }) => tasks.find(taskId) === undefined);
        for (const turn of dropped) turns.end(turn);
        return { ids: dropped.map(({ taskId }) => taskId), ...nextOf(tables, key, replica) };
      }),
  };
}

function nextOf(tables: Tables, key: string, replica: string): { next?: TurnRecord } {
  const next = startNext(tables, key, replica);
  return next === undefined ? {} : { next };
}
