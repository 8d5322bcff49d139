/** With `LEGATE_EXAMPLE_MODEL` the examples use a real model; this test has one at a local address. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startScriptedModelServer } from '../src/models/index.ts';

test('an example asks the model at LEGATE_EXAMPLE_API_BASE, and its check holds', async () => {
  let asked = 0;
  const server = await startScriptedModelServer(({ promptText }) => {
    asked += 1;
    return promptText.includes('"transferred":500')
      ? 'Ann has the money.'
      : { toolCalls: [{ name: 'transfer_money', input: { to: 'Ann', amount: 500 } }] };
  });
  try {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'run.ts'), 'confirm'], {
      env: {
        ...process.env,
        LEGATE_EXAMPLE_MODEL: 'local',
        LEGATE_EXAMPLE_API_BASE: server.url,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, said }).toEqual({ code: 0, said: expect.stringMatching(/^confirm: /) });
    expect(asked).toBe(2);
  } finally {
    await server.close();
  }
});
