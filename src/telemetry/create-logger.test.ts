import { expect, test } from 'vitest';
import { createLogger } from './index.ts';

test('lines are JSON with the event, and secrets are blotted out wherever they stand', async () => {
  const lines: string[] = [];
  const logger = await createLogger({ write: (line) => lines.push(line) });
  logger
    .child({ taskId: 't' })
    .warn(
      { token: 'hunter2', request: { headers: { authorization: 'Bearer hunter2' } } },
      'auth.denied',
    );
  logger.debug({}, 'not.shown');
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain('hunter2');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'auth.denied', taskId: 't' });
});
