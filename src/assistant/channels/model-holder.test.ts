import { expect, test } from 'vitest';
import { ModelHolder } from './model-holder.ts';

test('requests that come before the first model is loaded are told that it is starting', async () => {
  const models = new ModelHolder();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const loading = models.change(() => promise);
  await expect
    .poll(() => {
      try {
        return models.require();
      } catch (error) {
        return error;
      }
    })
    .toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('is starting') });
  resolve(undefined);
  await loading;
  expect(() => models.require()).toThrow('no model is loaded; load one with PUT /model');
});
