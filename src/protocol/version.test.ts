import { expect, test } from 'vitest';
import { negotiateVersion } from './version.ts';

test.each([
  [{ header: '1.0' }, '1.0'],
  [{ header: ' 1.0 ' }, '1.0'],
  [{ header: '1.0.5' }, '1.0'],
  [{ header: '0.3' }, '0.3'],
  [{ header: '0.3.0' }, '0.3'],
  [{ query: '1.0' }, '1.0'],
  [{ header: '', query: '1.0' }, '1.0'],
  [{ header: '0.3', query: '1.0' }, '0.3'],
  [{}, '0.3'],
  [{ header: '' }, '0.3'],
  [{ header: undefined, query: null }, '0.3'],
] as const)('%j speaks %s (§3.6)', (request, version) => {
  expect(negotiateVersion(request)).toBe(version);
});

test.each(['1', '1.1', '0.2', '2.0', '1.0.x', '1.0, 1.0', 'v1.0', '1.0.5.6', '1.00', 'x'])(
  'version %j is not supported, and the supported ones are named (§3.6.2)',
  (header) => {
    expect(() => negotiateVersion({ header })).toThrow(
      expect.objectContaining({
        code: 'VERSION_NOT_SUPPORTED',
        metadata: { requestedVersion: header, supportedVersions: '1.0, 0.3' },
      }),
    );
  },
);

test('a server may speak one version only', () => {
  expect(() => negotiateVersion({ supported: ['1.0'] })).toThrow('supported: 1.0');
  expect(negotiateVersion({ header: '1.0', supported: ['1.0'] })).toBe('1.0');
});

test('a long version is not repeated in full', () => {
  expect(() => negotiateVersion({ header: '9'.repeat(10_000) })).toThrow(/^.{0,120}$/);
});
