import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { Json, type TaskState } from '../../protocol/index.ts';
import { alice, statusEvent, taskBody } from '../behaviour/fixtures.contract.ts';
import type { Admission } from '../contract.ts';
import { processClock } from '../process-clock.ts';
import { admit } from './admit.ts';
import { append } from './append.ts';
import { migrate, readMigrations } from './migrations.ts';
import { Tables } from './tables.ts';

/** Tasks are named by their number; one that was never begun is as good as any. */
const task = fc.nat({ max: 5 });
const state = fc.constantFrom<TaskState>(
  'TASK_STATE_WORKING',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_COMPLETED',
);
const step = fc.oneof(
  fc.record({
    kind: fc.constant('begin' as const),
    context: fc.nat({ max: 2 }),
    maxContexts: fc.nat({ max: 2 }),
    hasPush: fc.boolean(),
    message: fc.option(fc.nat({ max: 2 }), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('continue' as const), task }),
  fc.record({
    kind: fc.constant('append' as const),
    task,
    events: fc.nat({ max: 2 }),
    state,
    ends: fc.boolean(),
    replies: fc.constantFrom(false, false, true),
  }),
  fc.record({ kind: fc.constant('cancel' as const), task }),
  fc.record({ kind: fc.constant('release' as const), task }),
  fc.record({ kind: fc.constant('run' as const), task }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Everything in a file, and the operations that put it there. */
class World {
  readonly database = new DatabaseSync(':memory:');
  readonly tables: Tables;
  #begun = 0;

  constructor() {
    migrate(this.database, readMigrations(), 'p');
    this.tables = new Tables(this.database, {
      path: 'p',
      clock: processClock({ now: () => 5 }),
    });
  }

  perform(each: Step): unknown {
    const { tasks, turns } = this.tables;
    if (each.kind === 'begin') return this.#begin(each);
    const taskId = `t${each.task}`;
    const turn = turns.open.ofTask(taskId)[0];
    const row = tasks.find(taskId);
    switch (each.kind) {
      case 'continue':
        return this.#admit({ taskId, contextId: row?.contextId ?? '', maxContexts: 0 });
      case 'append': {
        const version = row?.version ?? 1;
        return append(this.tables, {
          taskId,
          version,
          events: Array.from({ length: each.events }, (_, index) =>
            statusEvent(version + 1 + index, each.state, taskId),
          ),
          state: each.state,
          statusTime: 7,
          now: 7,
          replica: 'r',
          ...(turn?.replica !== undefined && {
            turn: { id: turn.id, replica: turn.replica },
            endsTurn: each.ends,
            ...(each.replies && {
              reply: Json.of({ messageId: 'r', role: 'ROLE_AGENT' as const, parts: [] }),
            }),
          }),
        });
      }
      case 'cancel':
        if (row !== undefined) tasks.requestCancel(row);
        return row;
      case 'release':
        if (turn !== undefined) turns.release(turn, turn.attempt + 1);
        return turn;
      case 'run': {
        if (turn === undefined) return undefined;
        const { request, ...rest } = turns.run(turn, 'other', turn.attempt);
        return { ...rest, request: request.text };
      }
    }
  }

  #begin({ context, maxContexts, hasPush, message }: Extract<Step, { kind: 'begin' }>): unknown {
    const taskId = `t${this.#begun}`;
    this.#begun += 1;
    const contextId = `c${context}`;
    return this.#admit({
      taskId,
      contextId,
      maxContexts,
      task: taskBody(taskId, contextId),
      ...(hasPush && {
        push: { config: { id: 'w', url: 'https://example.com' }, wireVersion: '1.0' as const },
      }),
      ...(message !== undefined && {
        dedupe: { key: `m${message}`, digest: 'd', expiresAt: 100 },
      }),
    });
  }

  #admit(
    message: Omit<Admission, 'agent' | 'owner' | 'key' | 'replica' | 'now' | 'request'>,
  ): unknown {
    const request = Json.of({ for: message.taskId });
    const rest = { agent: 'a', owner: alice, key: message.contextId, replica: 'r', now: 5 };
    return admit(this.tables, { ...rest, request, ...message }, this.tables.turns.nextId());
  }

  async contents(): Promise<unknown> {
    await this.tables.commits.write(() => {});
    const names = this.database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'");
    return names
      .all()
      .map(({ name }) => [name, this.database.prepare(`SELECT * FROM ${String(name)}`).all()]);
  }
}

const worlds: World[] = [];
afterEach(() => {
  for (const { database } of worlds.splice(0)) database.close();
});

function world(): World {
  const made = new World();
  worlds.push(made);
  return made;
}

test('what a transaction puts off to its end is as if it had been written at once', async () => {
  const steps = fc.array(step, { minLength: 5, maxLength: 40, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const [atOnce, later] = [world(), world()];
      for (const each of all) {
        const expected = atOnce.perform(each);
        atOnce.tables.write();
        expect(later.perform(each)).toEqual(expected);
      }
      expect(await later.contents()).toEqual(await atOnce.contents());
    }),
    { numRuns: 150 },
  );
});

test('a turn that ends in the transaction in which it began is never written', async () => {
  const each = world();
  each.perform({ kind: 'begin', context: 0, maxContexts: 0, hasPush: false, message: undefined });
  const end = { events: 1, state: 'TASK_STATE_COMPLETED', ends: true, replies: false } as const;
  each.perform({ kind: 'append', task: 0, ...end });
  const before = each.database.prepare('SELECT total_changes() AS n').get()?.['n'];
  each.tables.write();
  const after = each.database.prepare('SELECT total_changes() AS n').get()?.['n'];
  // Two events and the task as it ended.
  expect(Number(after) - Number(before)).toBe(3);
  expect(each.database.prepare('SELECT state, version FROM tasks').all()).toEqual([
    expect.objectContaining({ state: 3, version: 2 }),
  ]);
});
