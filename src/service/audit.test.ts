import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LegateError } from '../protocol/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { AuditLog } from './audit.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function audited() {
  const lines: Record<string, unknown>[] = [];
  const warn = (fields: object, event: string): void => void lines.push({ ...fields, event });
  return { lines, audit: new AuditLog({ ...silentLogger, warn }) };
}

const limited = new LegateError('RATE_LIMITED', 'too many open streams');

test('refusals by a limit are logged when they start, then once in ten seconds with their number', () => {
  const { lines, audit } = audited();
  const refuse = (count: number, address = '192.0.2.1'): void => {
    for (let index = 0; index < count; index += 1)
      audit.denied(limited, { address, what: 'POST /' });
  };
  refuse(1_000);
  expect(lines).toMatchObject([{ event: 'audit.limited', address: '192.0.2.1', refused: 1 }]);
  refuse(1, '192.0.2.2');
  expect(lines).toHaveLength(2);
  vi.advanceTimersByTime(10_000);
  expect(lines.slice(2)).toMatchObject([{ address: '192.0.2.1', refused: 999 }]);
  refuse(5);
  vi.advanceTimersByTime(10_000);
  expect(lines.slice(3)).toMatchObject([{ address: '192.0.2.1', refused: 5 }]);
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(4);
  expect(vi.getTimerCount()).toBe(0);
  refuse(1);
  expect(lines).toHaveLength(5);
});

test('however many clients are refused, the lines are bounded', () => {
  const { lines, audit } = audited();
  for (let index = 0; index < 5_000; index += 1) {
    audit.denied(limited, { address: `192.0.${index >> 8}.${index & 255}`, what: 'POST /' });
  }
  expect(lines).toHaveLength(1_001);
  vi.advanceTimersByTime(10_000);
  const shared = { audit: 'denied', code: 'RATE_LIMITED', event: 'audit.limited' };
  expect(lines.slice(1_000)).toEqual([
    { ...shared, refused: 1 },
    { ...shared, refused: 3_999 },
  ]);
});

test('refused credentials are logged one by one', () => {
  const { lines, audit } = audited();
  const error = new LegateError('PERMISSION_DENIED', 'no');
  for (let index = 0; index < 3; index += 1) {
    audit.denied(error, { address: '192.0.2.1', what: 'POST /' });
  }
  expect(lines).toHaveLength(3);
});
