import { expect, test } from 'vitest';
import { publicPolicy } from './policy.ts';
import { redactPushConfig, validatePushConfig } from './registration.ts';

const url = 'https://example.com/hook';

test.each([
  { url },
  { url, id: 'mine', token: 'a token with spaces' },
  { url, authentication: { scheme: 'Bearer' } },
  { url, authentication: { scheme: 'Basic', credentials: 'dXNlcjpwYXNz' } },
])('a good configuration is taken: %j', (config) => {
  expect(() => validatePushConfig(config, publicPolicy)).not.toThrow();
});

test.each([
  ['url', { url: 'http://10.0.0.1/' }],
  ['token', { url, token: 'a\r\nX-Admin: yes' }],
  ['token', { url, token: 'a\nb' }],
  ['token', { url, token: 'a\u0000' }],
  ['token', { url, token: 'naïve' }],
  ['token', { url, token: ' padded' }],
  ['token', { url, token: 'a'.repeat(8_193) }],
  ['authentication.scheme', { url, authentication: { scheme: '' } }],
  ['authentication.scheme', { url, authentication: { scheme: 'Bearer x' } }],
  ['authentication.scheme', { url, authentication: { scheme: 'Bearer\r\nX-Admin: yes' } }],
  [
    'authentication.credentials',
    { url, authentication: { scheme: 'Bearer', credentials: 'a\r\nHost: other' } },
  ],
  ['id', { url, id: 'a\nb' }],
  ['id', { url, id: 'a'.repeat(257) }],
])('%s that cannot be sent safely is refused', (field, config) => {
  expect(() => validatePushConfig(config, publicPolicy, { path: 'configuration' })).toThrow(
    expect.objectContaining({
      code: 'INVALID_PARAMS',
      violations: [expect.objectContaining({ field: `configuration.${field}` })],
    }),
  );
});

test('an error does not repeat the secret', () => {
  const attempt = () =>
    validatePushConfig(
      { url, authentication: { scheme: 'Bearer', credentials: 's3cret\n' } },
      publicPolicy,
    );
  expect(attempt).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('s3cret') }),
  );
});

test('reading a configuration shows neither token nor credentials', () => {
  const config = {
    id: '1',
    taskId: 't',
    url,
    token: 'secret',
    authentication: { scheme: 'Bearer', credentials: 'secret' },
  };
  expect(redactPushConfig(config)).toEqual({
    id: '1',
    taskId: 't',
    url,
    authentication: { scheme: 'Bearer' },
  });
  expect(redactPushConfig({ url, token: 'secret' })).toEqual({ url });
});
