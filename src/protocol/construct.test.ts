import { expect, test } from 'vitest';
import { artifact, file, message, text } from './index.ts';

test('a message made from one text has a new id, the user role and one part', () => {
  const made = message('hello');
  expect(made).toEqual({
    messageId: made.messageId,
    role: 'ROLE_USER',
    parts: [{ text: 'hello' }],
  });
  expect(made.messageId).not.toBe(message('hello').messageId);
});

test('a file made from bytes is base64', () => {
  expect(file({ bytes: new Uint8Array([0, 255, 16]), filename: 'a.bin' })).toEqual({
    raw: 'AP8Q',
    filename: 'a.bin',
  });
});

test('an artifact keeps the id and name it is given', () => {
  expect(artifact(text('x'), { artifactId: 'a', name: 'n' })).toEqual({
    artifactId: 'a',
    name: 'n',
    parts: [{ text: 'x' }],
  });
});
