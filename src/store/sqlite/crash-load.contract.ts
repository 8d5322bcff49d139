/**
 * A program that writes to a store until it is killed, and prints a line for everything that was
 * acknowledged: `admitted N` and `ended N`. Its one argument is the path of the store.
 */
import { writeSync } from 'node:fs';
import { Json } from '../../protocol/index.ts';
import {
  admit,
  alice,
  append,
  ending,
  statusEvent,
  taskBody,
} from '../behaviour/fixtures.contract.ts';
import { openSqlite } from './open-sqlite.ts';

const store = openSqlite({ path: process.argv[2] ?? '' });
let last = 0;

async function write(): Promise<never> {
  for (;;) {
    const number = (last += 1);
    const id = `t${number}`;
    const { turn } = await admit(store, { taskId: id, contextId: id });
    writeSync(1, `admitted ${number}\n`);
    await append(
      store,
      ending(turn, 1, 'TASK_STATE_COMPLETED', {
        events: [
          statusEvent(2, 'TASK_STATE_WORKING', id),
          statusEvent(3, 'TASK_STATE_COMPLETED', id),
        ],
        snapshot: { version: 3, body: taskBody(id, id, 'TASK_STATE_COMPLETED') },
        context: { owner: alice, contextId: id, value: Json.of(number), log: [Json.of(number)] },
      }),
    );
    writeSync(1, `ended ${number}\n`);
  }
}

await Promise.all(Array.from({ length: 32 }, write));
