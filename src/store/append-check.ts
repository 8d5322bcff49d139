import { LegateError } from '../protocol/index.ts';
import type { Append } from './contract.ts';

/** Refuses an append that contradicts itself, before anything of it is written. */
export function checkAppend(append: Append): void {
  const { events, version, turn, snapshot, taskId } = append;
  for (let index = 0; index < events.length; index += 1) {
    const sequence = events[index]?.sequence;
    if (sequence !== version + 1 + index) {
      throw new LegateError(
        'INTERNAL',
        `task ${taskId}: an event numbered ${sequence} cannot follow version ${version + index}`,
      );
    }
  }
  if (turn === undefined && (append.endsTurn === true || append.reply !== undefined)) {
    throw new LegateError('INTERNAL', `task ${taskId}: only the runner of a turn can end it`);
  }
  if (snapshot !== undefined && snapshot.version > version + events.length) {
    throw new LegateError(
      'INTERNAL',
      `task ${taskId}: a snapshot of version ${snapshot.version} is ahead of its log`,
    );
  }
}
