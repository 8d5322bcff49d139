import { afterEach, expect, test } from 'vitest';
import { describeStores } from '../../../test/support/stores.ts';
import { ownerKey } from '../../store/index.ts';
import { WorkingMemory, type WorkingMemoryOptions } from './working-memory.ts';

describeStores('working memory', (openPlace) => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup();
  });

  let now = 1_000_000;
  const clock = { now: () => now };
  async function open(options: Partial<WorkingMemoryOptions> = {}) {
    now = 1_000_000;
    const place = await openPlace();
    cleanups.push(() => place.remove());
    const { records } = await place.open();
    const owner = ownerKey({ agent: 'me', tenant: '', subject: 'alice' });
    const memory = new WorkingMemory({ records, owner, clock, ...options });
    return { memory, records };
  }

  test('what is saved is found again with all that was said about it', async () => {
    const { memory } = await open();
    await memory.save('session/1/plan', 'First', {
      category: 'plans/today',
      tags: ['a', 'b'],
      writer: 'me',
      ttlMs: 5_000,
    });
    expect(await memory.get('session/1/plan')).toEqual({
      key: 'session/1/plan',
      value: 'First',
      category: 'plans/today',
      tags: ['a', 'b'],
      writer: 'me',
      savedAt: 1_000_000,
      expiresAt: 1_005_000,
    });
    expect(await memory.get('session/1/other')).toBe(undefined);
  });

  test('entries expire, in the store as well', async () => {
    const { memory, records } = await open();
    await memory.save('session/1/a', 'x', { ttlMs: 1_000 });
    now += 1_001;
    expect(await memory.get('session/1/a')).toBe(undefined);
    expect(await memory.search()).toEqual([]);
    expect(await records.list({ space: 'working-memory', limit: 10, now })).toEqual([]);
  });

  test('the memories of two owners never meet', async () => {
    const { memory, records } = await open();
    await memory.save('session/1/secret', 'x');
    const owner = ownerKey({ agent: 'me', tenant: '', subject: 'bob' });
    const other = new WorkingMemory({ records, owner, clock });
    expect(await other.get('session/1/secret')).toBe(undefined);
    expect(await other.search()).toEqual([]);
    expect(await other.delete('session/1/secret')).toBe(false);
  });

  test('what does not fit is refused and said so, and nothing is dropped', async () => {
    const { memory } = await open({ maxEntries: 3, maxValueLength: 10 });
    for (const key of ['a', 'b', 'c']) {
      await memory.save(`session/1/${key}`, key, { ttlMs: 1_000 });
    }
    await expect(memory.save('session/1/d', 'x', { ttlMs: 1_000 })).rejects.toThrow(
      /session\/1 holds 3 entries and no more/,
    );
    expect(await memory.keys('session/1')).toEqual(['session/1/a', 'session/1/b', 'session/1/c']);
    // In place of a former one, and in another namespace, there is room.
    await memory.save('session/1/a', 'again', { ttlMs: 1_000 });
    await memory.save('session/10/d', 'x', { ttlMs: 1_000 });
    await expect(memory.save('session/1/a', 'x'.repeat(11), { ttlMs: 1 })).rejects.toThrow(
      /11 characters; at most 10/,
    );
    const tooLong = { ttlMs: 31 * 24 * 60 * 60_000 };
    await expect(memory.save('session/1/a', 'x', tooLong)).rejects.toThrow(/time to live/);
    await expect(memory.save('session/1/a', 'x', { ttlMs: Number.NaN })).rejects.toThrow(/live/);
    expect((await memory.get('session/1/a'))?.value).toBe('again');
  });

  test('where an entry may evict others, the oldest of these make room', async () => {
    const { memory } = await open({ maxEntries: 4 });
    await memory.save('session/1/notes', 'kept');
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      await memory.save(`session/1/a2a/${key}`, key, { evicts: 'session/1/a2a' });
    }
    expect(await memory.keys('session/1')).toEqual([
      'session/1/a2a/c',
      'session/1/a2a/d',
      'session/1/a2a/e',
      'session/1/notes',
    ]);
    await expect(memory.save('session/1/x', 'x')).rejects.toThrow(/holds 4 entries/);
  });

  test('entries that come at the same time do not exceed the limit either', async () => {
    const { memory } = await open({ maxEntries: 3 });
    const saved = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) => memory.save(`session/1/${index}`, 'x')),
    );
    expect(saved.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(await memory.keys('session/1')).toHaveLength(3);
    for (const each of saved) {
      if (each.status === 'rejected') expect(String(each.reason)).toMatch(/holds 3 entries/);
    }
    // What was forgotten makes room again.
    now += 2 * 60 * 60 * 1000;
    await memory.save('session/1/later', 'x');
    expect(await memory.keys('session/1')).toEqual(['session/1/later']);
  });

  test('editing replaces text that is there once, and restarts the time to live', async () => {
    const { memory } = await open();
    await memory.save('session/1/a', 'one two two', { ttlMs: 1_000, tags: ['t'], category: 'c' });
    now += 900;
    const edited = await memory.edit('session/1/a', { find: 'one', replace: 'three' });
    expect(edited).toMatchObject({
      value: 'three two two',
      tags: ['t'],
      category: 'c',
      expiresAt: now + 1_000,
    });
    await expect(memory.edit('session/1/a', { find: 'two', replace: '' })).rejects.toThrow(
      /2 times; give more of it/,
    );
    await memory.edit('session/1/a', { find: ' two', replace: '', all: true });
    expect((await memory.get('session/1/a'))?.value).toBe('three');
    await expect(memory.edit('session/1/a', { find: 'x', replace: '' })).rejects.toThrow(
      /does not occur/,
    );
    await expect(memory.edit('session/1/b', { find: 'x', replace: '' })).rejects.toThrow(
      /no entry/,
    );
  });

  test('edits at the same time are all kept', async () => {
    const { memory } = await open();
    await memory.save('session/1/a', 'a b c');
    await Promise.all(
      ['a', 'b', 'c'].map((find) =>
        memory.edit('session/1/a', { find, replace: find.toUpperCase() }),
      ),
    );
    expect((await memory.get('session/1/a'))?.value).toBe('A B C');
  });

  test('search matches words, category, tags and path', async () => {
    const { memory } = await open();
    await memory.save('session/1/weather', 'Sunny in Oslo', { category: 'a/b', tags: ['x', 'y'] });
    now += 1;
    await memory.save('session/1/news', 'Rain in Bergen', { category: 'a/bc', tags: ['x'] });
    now += 1;
    await memory.save('session/2/other', 'Oslo again');
    const keys = async (query: object) => (await memory.search(query)).map(({ key }) => key);
    expect(await keys({})).toEqual(['session/2/other', 'session/1/news', 'session/1/weather']);
    expect(await keys({ query: 'oslo', prefix: 'session/1' })).toEqual(['session/1/weather']);
    expect(await keys({ category: 'a' })).toEqual(['session/1/news', 'session/1/weather']);
    expect(await keys({ category: 'a/b' })).toEqual(['session/1/weather']);
    expect(await keys({ tags: ['x', 'y'] })).toEqual(['session/1/weather']);
    expect(await keys({ query: 'oslo bergen', limit: 1 })).toHaveLength(1);
    expect(await keys({ prefix: 'session/1/w' })).toEqual([]);
  });

  test('keys are paths that lead nowhere else', async () => {
    const { memory } = await open();
    for (const key of ['', '/', 'a\nb', 'a//b', '../x', 'session/1/../2', 'x'.repeat(501)]) {
      await expect(memory.save(key, 'x')).rejects.toThrow(/cannot be a key/);
    }
    await memory.save('/notes/', 'x');
    expect(await memory.keys()).toEqual(['shared/notes']);
  });

  test('more than one page of entries is listed', async () => {
    const { memory } = await open({ maxEntries: 1_000 });
    for (let index = 0; index < 250; index += 1) {
      await memory.save(`session/1/${String(index).padStart(3, '0')}`, 'x');
    }
    expect(await memory.keys('session/1')).toHaveLength(250);
  });
});
