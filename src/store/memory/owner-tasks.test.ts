import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Json, type TaskState } from '../../protocol/index.ts';
import { taskBody } from '../behaviour/fixtures.contract.ts';
import { OwnerTasks } from './owner-tasks.ts';
import type { TaskEntry } from './task-entry.ts';

const states: TaskState[] = ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];

function entry(index: number, statusTime: number): TaskEntry {
  const id = `t${index}`;
  const body = taskBody(id, 'c');
  return {
    id,
    agent: 'agent',
    owner: 'o',
    contextId: `c${index % 3}`,
    state: 'TASK_STATE_SUBMITTED',
    version: 1,
    statusTime,
    cancelRequested: false,
    snapshot: { version: 1, body },
    log: [{ sequence: 1, body: Json.of({ task: body.value }) }],
    push: undefined,
    position: -1,
  };
}

const changes = fc.array(
  fc.record({
    what: fc.constantFrom('add', 'add', 'change', 'change', 'change', 'remove', 'list'),
    which: fc.nat({ max: 1000 }),
    // Time mostly goes forward, and sometimes stands still or goes back.
    passes: fc.constantFrom(-5, 0, 0, 1, 1, 1, 7),
    state: fc.constantFrom(...states),
  }),
  { minLength: 50, maxLength: 600, size: 'max' },
);

test('the order kept is the order that sorting everything would give', () => {
  fc.assert(
    fc.property(changes, (steps) => {
      const tasks = new OwnerTasks();
      const model: TaskEntry[] = [];
      let now = 1000;
      const check = (): void => {
        const sorted = model.toSorted(
          (a, b) => b.statusTime - a.statusTime || (a.id < b.id ? 1 : -1),
        );
        const listed: string[] = [];
        let after: { statusTime: number; id: string } | undefined;
        for (let more = true; more;) {
          const page = tasks.page({ owner: 'o', limit: 7, ...(after !== undefined && { after }) });
          expect(page.total).toBe(model.length);
          listed.push(...page.records.map(({ id }) => id));
          after = page.records.at(-1);
          ({ more } = page);
        }
        expect(listed).toEqual(sorted.map(({ id }) => id));
      };
      for (const [index, { what, which, passes, state }] of steps.entries()) {
        now += passes;
        const chosen = model[which % Math.max(1, model.length)];
        if (what === 'add') {
          const task = entry(index, now);
          model.push(task);
          tasks.add(task);
        } else if (what === 'list') {
          check();
        } else if (chosen !== undefined && what === 'change') {
          tasks.setStatus(chosen, state, now);
        } else if (chosen !== undefined) {
          tasks.remove(chosen);
          model.splice(model.indexOf(chosen), 1);
        }
      }
      check();
    }),
    { numRuns: 50 },
  );
});
