import { counter, histogram } from '../telemetry/index.ts';

const calls = counter('legate.model.calls');
const seconds = histogram('legate.model.duration');
const tokens = counter('legate.model.tokens');

/**
 * Counts one answer of a model from here to its end, retries included.
 * @example const meter = meterModelCall(model.modelId, Date.now); meter.end({ input: 10, output: 5 });
 */
export function meterModelCall(
  model: string,
  now: () => number,
): { end(used?: { readonly input: number; readonly output: number }): void } {
  const begun = now();
  return {
    /** Without `used` the model failed. */
    end(used) {
      const labels = { model, outcome: used === undefined ? 'error' : 'ok' };
      calls.add(1, labels);
      seconds.record((now() - begun) / 1000, labels);
      if (used === undefined) return;
      tokens.add(used.input, { model, direction: 'input' });
      tokens.add(used.output, { model, direction: 'output' });
    },
  };
}
