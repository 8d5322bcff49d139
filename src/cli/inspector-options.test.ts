import { expect, test } from 'vitest';
import { inspectorOptions } from './run.ts';

test('the page reaches agents of the same network only where nobody but this machine opens it', () => {
  expect(inspectorOptions('127.0.0.1').proxy).toMatchObject({
    policy: { schemes: ['http', 'https'], allowPrivate: true },
  });
  expect(inspectorOptions('localhost').proxy).toMatchObject({ policy: { allowPrivate: true } });
  expect(inspectorOptions('0.0.0.0').proxy).toBe(true);
  expect(inspectorOptions('192.168.1.7').proxy).toBe(true);
});
