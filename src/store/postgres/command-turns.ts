import { Json, type JsonValue } from '../../protocol/index.ts';
import type { CommandStore, TurnRecord } from '../contract.ts';
import type { Connections } from './open-postgres.ts';
import { batch } from './batch.ts';
import { contextTypes, contextValues } from './context-table.ts';
import type { Notices } from './notices.ts';
import { recordTypes, recordValues } from './record-table.ts';
import { call, kindOf, type Row, textsOf } from './statement.ts';

const statements = {
  queue: batch('queue_command', 'text, text, text, text, text'),
  end: batch('end_command', `bigint, text, ${contextTypes}, ${recordTypes}, bigint`),
  drop: call('drop_commands', 2),
};

/** Turns without a task. */
export function postgresCommands({ writes }: Connections, notices: Notices): CommandStore {
  return {
    async queue({ agent, key, id, replica, request }) {
      const values = [agent, key, id, replica, request.text];
      const [row = {}] = await writes.write(statements.queue, values, { key });
      const turn = { id: Number(row['turn']), key, taskId: id, attempt: 1, request };
      return { turn, running: row['is_running'] === true };
    },
    async end({ turn, replica, context, records, now }) {
      const values = [
        turn.id,
        replica,
        ...(context === undefined ? [null, null, null, null] : contextValues(context)),
        ...(records === undefined ? [null, null, null, null, null] : recordValues(records)),
        now,
      ];
      const [row = {}] = await writes.write(statements.end, values, { turn: turn.id });
      const kind = kindOf(row, ['ended', 'fenced', 'version-conflict']);
      if (kind !== 'ended') return { kind };
      notices.notify(turn.taskId, 0);
      return { kind, ...nextTurn(row) };
    },
    async drop(key, replica) {
      const [row = {}] = await writes.write(statements.drop, [key, replica], { key });
      const ids = textsOf(row['ids']);
      // Also notifies the replica that runs one of them.
      for (const id of ids) notices.announce(id, 0);
      return { ids, ...nextTurn(row) };
    },
  };
}

/** The turn that a database function has started, if any. */
export function nextTurn(row: Row): { next?: TurnRecord } {
  if (row['next_turn'] === null) return {};
  return {
    next: {
      id: Number(row['next_turn']),
      key: String(row['next_key']),
      taskId: String(row['next_task']),
      attempt: Number(row['next_attempt']),
      request: Json.fromText<JsonValue>(String(row['next_request'])),
    },
  };
}
