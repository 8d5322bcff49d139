import { expect, test } from 'vitest';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { legate, patient } from './testing/legate-process.ts';

test(
  'the shell looks inside of an assistant: slots, stack and what was said',
  patient,
  async () => {
    await using folder = await greenhouseFolder();
    const input = 'water the Monstera\n/slots\n/stack\n/history\n';
    const { code, out } = await legate(['shell', folder.directory], { input });
    expect(code).toBe(0);
    const [welcome = '', ...lines] = out.trimEnd().split('\n');
    expect(welcome).toMatch(/^Hi! I can help you with watering, /);
    expect(out.match(/^Hi!/gm)).toHaveLength(1);
    const [question, ...inside] = lines.filter((line) => !/^  \d\) /.test(line));
    expect(question).toBe('How many litres?');
    expect(inside).toContain('plant: "Monstera"');
    expect(inside.filter((line) => line.startsWith('water_plants at '))).toHaveLength(1);
    expect(inside.slice(-2)).toEqual(['you: water the Monstera', 'assistant: How many litres?']);
  },
);

test('a restart opens a new conversation with the welcome', patient, async () => {
  await using folder = await greenhouseFolder();
  const input = 'water the Monstera\n/restart\n/slots\n/history\n';
  const { code, out } = await legate(['shell', folder.directory], { input });
  expect(code).toBe(0);
  expect(out.match(/^Hi!/gm)).toHaveLength(2);
  expect(out).not.toContain('plant: "Monstera"');
  expect(out).not.toContain('you: water the Monstera');
});
