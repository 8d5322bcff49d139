import { expect, test } from 'vitest';
import { agent, inputRequired } from '../../agents/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import type { EvaluationCase, ExpectedCall } from './read-cases.ts';
import { isMet, runCase } from './run-case.ts';

const any: ExpectedCall = { tool: 'search', input: undefined };
const first: ExpectedCall = { tool: 'search', input: { q: 1 } };
const calls = [
  { tool: 'search', input: { q: 1 } },
  { tool: 'search', input: { q: 2 } },
];

test.each([
  [[any, first], true],
  [[first, any], true],
  [[any, any], true],
  [[first, first], false],
  [[any, any, first], false],
])('any_order finds a call for each expected call: %j', (expected, isGood) => {
  expect(isMet(expected, calls, 'any_order')).toBe(isGood);
});

test('a later turn that does not end is limited like the first', async () => {
  const limits: AbortController[] = [];
  const hanging = agent({ name: 'hanging' }, async (turn) => {
    if (!turn.isContinuation) return inputRequired('Which one?');
    limits.at(-1)?.abort(new Error('too late'));
    return new Promise<never>((_, reject) => {
      turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error));
    });
  });
  const hung: EvaluationCase = {
    name: 'hangs',
    position: { file: 'cases.yml', line: 1, column: 1 },
    agent: undefined,
    judge: undefined,
    input: ['Go', 'this one'],
    tools: undefined,
    match: 'exact',
    facts: [],
    contains: [],
    excludes: [],
    state: 'completed',
    script: undefined,
  };
  const limit = (): AbortSignal => {
    const controller = new AbortController();
    limits.push(controller);
    return controller.signal;
  };
  const options = { mode: 'auto', logger: silentLogger, limit } as const;
  const { failures } = await runCase(hanging, hung, options);
  expect(limits).toHaveLength(2);
  expect(failures).toMatchObject([{ kind: 'state' }]);
});
