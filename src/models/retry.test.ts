import { APICallError } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { silentLogger } from '../telemetry/index.ts';
import { type ModelRetryOptions, retryModel } from './retry.ts';
import { scriptedModel } from './scripted-model.ts';

const model = scriptedModel([]);
const answer = { usage: { input: 1, output: 1 } };

function busy(retryAfter: string): APICallError {
  return new APICallError({
    message: 'busy',
    url: 'https://models.example',
    requestBodyValues: {},
    statusCode: 503,
    responseHeaders: { 'retry-after': retryAfter },
  });
}

/** Fails with these errors, one after the other, then answers; notes the waits between. */
function asked(failures: readonly Error[], options: Partial<ModelRetryOptions> = {}) {
  const waits: number[] = [];
  const sleep = (milliseconds: number): Promise<void> =>
    Promise.resolve(void waits.push(milliseconds));
  const { signal } = new AbortController();
  const all = { retries: 2, signal, logger: silentLogger, now: () => 0, random: () => 1, sleep };
  const ask = async (attempt: number): Promise<typeof answer> => {
    const failure = failures[attempt - 1];
    if (failure !== undefined) throw failure;
    return answer;
  };
  return { waits, result: retryModel(model, { ...all, ...options }, ask) };
}

test('a connection that breaks during an answer is retried', async () => {
  const { waits, result } = asked([new TypeError('terminated')]);
  expect(await result).toBe(answer);
  expect(waits).toEqual([250]);
});

test('the error names what broke an answer, not only that it could not be processed', async () => {
  const cause = new TypeError('terminated', { cause: new Error('other side closed') });
  const broken = new APICallError({
    message: 'Failed to process successful response',
    url: 'https://models.example',
    requestBodyValues: {},
    statusCode: 200,
    cause,
  });
  const { result } = asked([broken], { retries: 0 });
  await expect(result).rejects.toThrow(/broke off its answer: other side closed$/);
});

test('a service may ask for a wait of up to 60 s where there is no deadline', async () => {
  const patient = asked([busy('60')]);
  expect(await patient.result).toBe(answer);
  expect(patient.waits).toEqual([60_000]);
  const { waits, result } = asked([busy('61')]);
  await expect(result).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 61 });
  expect(waits).toEqual([]);
});

test('with a deadline only waits that end before it are worth it', async () => {
  const patient = asked([busy('90')], { deadline: 90_001 });
  expect(await patient.result).toBe(answer);
  expect(patient.waits).toEqual([90_000]);
  const { waits, result } = asked([busy('90')], { deadline: 90_000 });
  await expect(result).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(waits).toEqual([]);
});

test('an abort ends the attempts with its reason', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const sleep = async (): Promise<void> => controller.abort(reason);
  const { result } = asked([busy('1')], { signal: controller.signal, sleep });
  await expect(result).rejects.toBe(reason);
});
