import { expect, test } from 'vitest';
import { openMemory, ownerKey } from '../../store/index.ts';
import { runTool, toolContext } from '../testing.contract.ts';
import { memoryTools } from './memory-tools.ts';
import { WorkingMemory } from './working-memory.ts';

function start() {
  const { records } = openMemory();
  const owner = ownerKey({ agent: 'me', tenant: '', subject: 'user' });
  const memory = new WorkingMemory({ records, owner, maxEntries: 3 });
  return { memory, tools: memoryTools(() => memory) };
}

test('a model keeps, reads, changes, finds and forgets texts of its conversation', async () => {
  const { memory, tools } = start();
  const context = toolContext({ contextId: 'c1' });
  expect(
    await runTool(
      tools,
      'save_to_working_memory',
      { key: 'plan', data: 'Go to Oslo', ttl_minutes: 5, category: 'trips', tags: ['oslo'] },
      context,
    ),
  ).toBe("Saved to working memory under key 'session/c1/plan'.");
  // The whole key, as notices name it, and the short one are the same.
  const whole = { key: 'session/c1/plan' };
  expect(await runTool(tools, 'get_from_working_memory', whole, context)).toBe('Go to Oslo');
  expect(await runTool(tools, 'get_from_working_memory', { key: 'plan' }, context)).toBe(
    'Go to Oslo',
  );
  await runTool(
    tools,
    'edit_working_memory',
    { key: 'plan', old_text: 'Oslo', new_text: 'Bergen' },
    context,
  );
  expect(await runTool(tools, 'search_working_memory', { query: 'bergen' }, context)).toMatchObject(
    {
      entries: [
        {
          key: 'session/c1/plan',
          preview: 'Go to Bergen',
          length: 12,
          category: 'trips',
          tags: ['oslo'],
        },
      ],
    },
  );
  expect(await runTool(tools, 'list_working_memory', {}, context)).toEqual({
    keys: ['session/c1/plan'],
  });
  expect(await runTool(tools, 'delete_from_working_memory', { key: 'plan' }, context)).toMatch(
    /Deleted/,
  );
  expect(await memory.keys()).toEqual([]);
});

test('other conversations are out of reach, and what is shared is not', async () => {
  const { memory, tools } = start();
  await memory.save('session/c2/secret', 'x');
  await memory.save('shared/hello', 'for all');
  const context = toolContext({ contextId: 'c1' });
  for (const name of ['get_from_working_memory', 'delete_from_working_memory']) {
    await expect(runTool(tools, name, { key: 'session/c2/secret' }, context)).rejects.toThrow(
      /another conversation/,
    );
  }
  for (const name of ['search_working_memory', 'list_working_memory']) {
    await expect(runTool(tools, name, { namespace: 'session/c2' }, context)).rejects.toThrow(
      /another conversation/,
    );
  }
  expect(await runTool(tools, 'list_working_memory', { namespace: 'shared' }, context)).toEqual({
    keys: ['shared/hello'],
  });
  expect(await runTool(tools, 'search_working_memory', {}, context)).toEqual({ entries: [] });
  expect(await runTool(tools, 'get_from_working_memory', { key: 'shared/hello' }, context)).toBe(
    'for all',
  );
});

test('a conversation whose id looks like a path stays within its own', async () => {
  const { memory, tools } = start();
  await memory.save('session/c2/secret', 'x');
  const context = toolContext({ contextId: 'x/../c2' });
  await runTool(tools, 'save_to_working_memory', { key: 'a', data: '1' }, context);
  expect(await memory.keys('session/c2')).toEqual(['session/c2/secret']);
});

test('what is refused or missing is said in words that help', async () => {
  const { tools } = start();
  const context = toolContext();
  for (const key of ['a', 'b', 'c']) {
    await runTool(tools, 'save_to_working_memory', { key, data: 'x' }, context);
  }
  await expect(
    runTool(tools, 'save_to_working_memory', { key: 'd', data: 'x' }, context),
  ).rejects.toThrow(/holds 3 entries/);
  expect(await runTool(tools, 'get_from_working_memory', { key: 'z' }, context)).toBe(
    "Working memory entry 'session/c/z' not found or has expired. Keys of this conversation: session/c/a, session/c/b, session/c/c.",
  );
});
