import { describe, expect, test } from 'vitest';
import { normaliseBase64, normaliseTimestamp } from './scalars.ts';

describe('base64 (§5.5): any alphabet and padding in, the standard one out', () => {
  test.each([
    ['', ''],
    ['AAEC', 'AAEC'],
    ['+/8=', '+/8='],
    ['-_8=', '+/8='],
    ['-_8', '+/8='],
    ['-_', '+/=='],
    ['QQ', 'QQ=='],
    ['QQ=', 'QQ=='],
    ['QUI=', 'QUI='],
  ])('%j becomes %j', (value, normal) => {
    expect(normaliseBase64(value)).toBe(normal);
  });

  test.each(['A', 'AAAAA', 'A===', '====', '=', 'QQ==QQ==', 'Q Q=', 'QQ\n', 'ä', 'QUI=='])(
    '%j is refused',
    (value) => {
      expect(normaliseBase64(value)).toBeUndefined();
    },
  );
});

describe('timestamps (§5.6.1): UTC with milliseconds and Z out', () => {
  test.each([
    ['2025-01-31T12:00:00.123Z', '2025-01-31T12:00:00.123Z'],
    ['2025-01-31T12:00:00Z', '2025-01-31T12:00:00.000Z'],
    ['2025-01-31T12:00:00.1Z', '2025-01-31T12:00:00.100Z'],
    ['2025-01-31T12:00:00.123456789Z', '2025-01-31T12:00:00.123Z'],
    ['2025-01-31T12:00:00+02:00', '2025-01-31T10:00:00.000Z'],
    ['2024-12-31T23:30:00.5-01:30', '2025-01-01T01:00:00.500Z'],
    ['2024-02-29t00:00:00z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s becomes %s', (value, normal) => {
    expect(normaliseTimestamp(value, false)).toBe(normal);
  });

  test.each([
    '2025-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2025-13-01T00:00:00Z',
    '2025-00-10T00:00:00Z',
    '2025-01-01T24:00:00Z',
    '2025-01-01T00:60:00Z',
    '2025-01-01T00:00:60Z',
    '2025-01-01T00:00:00.1234567890Z',
    '2025-01-01T00:00:00.Z',
    '2025-01-01T00:00:00+24:00',
    '9999-12-31T23:59:59-01:00',
    '0000-01-01T00:00:00+01:00',
    '2025-01-01',
    '1735689600',
    'yesterday',
    '2025-01-01T00:00:00Zjunk',
  ])('%s is refused', (value) => {
    expect(normaliseTimestamp(value, false)).toBeUndefined();
  });

  test('a time without zone is UTC for 0.3 and refused for 1.x', () => {
    expect(normaliseTimestamp('2025-01-31T12:00:00.5', true)).toBe('2025-01-31T12:00:00.500Z');
    expect(normaliseTimestamp('2025-01-31T12:00:00.5', false)).toBeUndefined();
  });
});
