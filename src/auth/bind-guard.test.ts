import { expect, test } from 'vitest';
import { checkBind } from './local.ts';

test.each(['127.0.0.1', '127.1.2.3', '::1', '[::1]', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])(
  'without authentication %s is fine',
  (host) => {
    expect(() => checkBind({ host, isAuthenticated: false })).not.toThrow();
  },
);

test.each([
  '0.0.0.0',
  '::',
  '',
  '10.0.0.1',
  '93.184.216.34',
  'fe80::1',
  'example.com',
  'localhost.evil.com',
])('without authentication listening on %j is refused', (host) => {
  expect(() => checkBind({ host, isAuthenticated: false })).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringContaining('dangerouslyAllowUnauthenticatedRemote'),
    }),
  );
});

test('an unset host means every address', () => {
  expect(() => checkBind({ isAuthenticated: false })).toThrow('every address');
});

test('with authentication, or when told so, any address is fine', () => {
  expect(() => checkBind({ host: '0.0.0.0', isAuthenticated: true })).not.toThrow();
  expect(() =>
    checkBind({
      host: '0.0.0.0',
      isAuthenticated: false,
      dangerouslyAllowUnauthenticatedRemote: true,
    }),
  ).not.toThrow();
});
