import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  checkNames,
  describeFailure,
  findTests,
  loadProject,
  runTests,
} from '../../src/assistant/index.ts';

test('the bank reads values as people say them, and asks about unclear ones', async () => {
  const directory = join(import.meta.dirname, '../../examples/bank');
  const { project, problems } = await loadProject({ directory }, process.env);
  expect(problems.all).toEqual([]);
  const found = await findTests(join(import.meta.dirname, 'conversations'), directory, process.env);
  checkNames(found.cases, project, found.problems);
  expect(found.problems.all).toEqual([]);
  const { results } = await runTests(project, found.cases);
  expect(results).toHaveLength(20);
  const failed = results.filter(({ failures }) => failures.length > 0);
  expect(failed.map(describeFailure)).toEqual([]);
});
