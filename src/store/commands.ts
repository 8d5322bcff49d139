import { startNext } from './append.ts';
import type { CommandEnd, CommandStore, TurnRecord } from './contract.ts';
import type { Tables } from './tables.ts';

/** Turns without a task. `tell` says that one has ended. */
export function localCommands(
  tables: Tables,
  write: <T>(run: () => T) => Promise<T>,
  tell: (id: string) => void,
): CommandStore {
  const { turns, tasks, records, contexts } = tables;
  return {
    queue: ({ id: taskId, agent, key, replica, request }) => {
      let id: number | undefined;
      return write(() => {
        id ??= turns.nextId();
        const running = !turns.open.isBusy(key);
        const turn = { id, key, taskId, attempt: 1 };
        turns.insert({ ...turn, agent, replica: running ? replica : undefined }, request);
        return { turn: { ...turn, request }, running };
      });
    },
    async end({ turn: { id, taskId }, replica, context, records: writes, now }) {
      const outcome = await write((): CommandEnd => {
        const turn = turns.open.get(id);
        if (turn?.replica !== replica) return { kind: 'fenced' };
        if (writes !== undefined) {
          if (!records.holds(writes, now)) return { kind: 'version-conflict' };
          records.apply(writes, now);
        }
        if (context !== undefined) contexts.write({ ...context, now });
        turns.end(turn);
        return { kind: 'ended', ...nextOf(tables, turn.key, replica) };
      });
      if (outcome.kind === 'ended') tell(taskId);
      return outcome;
    },
    async drop(key, replica) {
      const dropped = await write(() => {
        const open = turns.open.ofKey(key).filter(({ taskId }) => tasks.find(taskId) === undefined);
        for (const turn of open) turns.end(turn);
        return { ids: open.map(({ taskId }) => taskId), ...nextOf(tables, key, replica) };
      });
      for (const id of dropped.ids) tell(id);
      return dropped;
    },
  };
}

function nextOf(tables: Tables, key: string, replica: string): { next?: TurnRecord } {
  const next = startNext(tables, key, replica);
  return next === undefined ? {} : { next };
}
