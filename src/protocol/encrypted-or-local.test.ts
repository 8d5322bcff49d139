import { expect, test } from 'vitest';
import { isEncryptedOrLocal } from './encrypted-or-local.ts';

test.each([
  ['https://example.com', true],
  ['http://localhost:1', true],
  ['http://127.0.0.1', true],
  ['http://127.8.8.8', true],
  ['http://2130706433', true],
  ['http://[::1]:80', true],
  ['http://localhost.example', false],
  ['http://127.0.0.1.example', false],
  ['http://sub.localhost', false],
  ['http://128.0.0.1', false],
  ['http://0.0.0.0', false],
  ['http://[::ffff:10.0.0.1]', false],
])('whether %s is encrypted or local: %j', (url, expected) => {
  expect(isEncryptedOrLocal(new URL(url))).toBe(expected);
});
