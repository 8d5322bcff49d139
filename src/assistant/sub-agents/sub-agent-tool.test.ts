import { expect, test } from 'vitest';
import { z } from 'zod';
import { subAgentTool } from './model.ts';

const context = {
  metadata: { trip: 'r-1' },
  slots: { city: 'Rome' },
  signal: new AbortController().signal,
};

test('a tool reads its input by its schema, and knows the metadata and slots of the agent', async () => {
  const tool = subAgentTool({
    name: 'count_nights',
    description: 'Counts nights.',
    input: z.object({ from: z.number(), to: z.number() }),
    run: ({ from, to }, { metadata, slots }) => ({ nights: to - from, ...metadata, ...slots }),
  });
  expect(tool.inputSchema).toMatchObject({ type: 'object', required: ['from', 'to'] });
  expect(await tool.run({ from: 3, to: 7 }, context)).toEqual({
    nights: 4,
    trip: 'r-1',
    city: 'Rome',
  });
  expect(await tool.parse({ from: 'x' })).toMatchObject({
    ok: false,
    problem: expect.stringMatching('from'),
  });
});

test('a tool without input, and one with a name that models do not take', async () => {
  const tool = subAgentTool({ name: 'now', description: 'Tells the time.', run: () => 12 });
  expect(await tool.run({}, context)).toBe(12);
  expect(() => subAgentTool({ name: 'what time', description: '', run: () => 12 })).toThrow(
    'invalid tool name "what time"',
  );
});
