import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLogger, inLogScope, redact } from './index.ts';

async function lines(): Promise<{
  readonly logger: Awaited<ReturnType<typeof createLogger>>;
  readonly written: string[];
  readonly last: () => Record<string, unknown>;
}> {
  const written: string[] = [];
  const logger = createLogger({ write: (line) => written.push(line) });
  return {
    logger,
    written,
    last: () => JSON.parse(written.at(-1) ?? '{}') as Record<string, unknown>,
  };
}

test('lines are JSON with the event, and secrets are redacted wherever they stand', async () => {
  const { logger, written, last } = await lines();
  logger
    .child({ taskId: 't', apiKey: 'hunter2' })
    .warn(
      { token: 'hunter2', request: { headers: { Authorization: 'Bearer hunter2' } } },
      'auth.denied',
    );
  logger.debug({}, 'not.shown');
  expect(written).toHaveLength(1);
  expect(written[0]).not.toContain('hunter2');
  expect(last()).toMatchObject({ level: 'warn', event: 'auth.denied', taskId: 't' });
});

test('a reason and a switch after a word for a secret are not secrets', () => {
  const fields = {
    fix: 'write "rest: {auth: true}" in credentials.yml',
    reason: 'the message has an invalid token (ERR_JWS_SIGNATURE_VERIFICATION_FAILED)',
  };
  expect(redact(fields)).toEqual(fields);
});

test.each([
  ['a bearer token in a text', { why: 'refused Bearer abc.def-ghi_123' }, 'abc.def'],
  ['a password in an address', { url: 'postgres://me:hunter2@db/x' }, 'hunter2'],
  ['a token that speaks for itself', { said: 'eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln' }, 'eyJzdWIi'],
  ['a key in a query', { path: '/x?api_key=hunter2&y=1' }, 'hunter2'],
  ['a key by another spelling', { 'X-API-KEY': 'hunter2', client_secret: 'hunter2' }, 'hunter2'],
  ['a key with a name of its own', { aws_secret_access_key: 'hunter2' }, 'hunter2'],
  ['the token of a webhook', { headers: { 'X-A2A-Notification-Token': 'hunter2' } }, 'hunter2'],
  ['a list of tokens', { tokens: ['hunter2'] }, 'hunter2'],
  ['a password in a query', { dsn: 'postgres://db/x?user=me&password=hunter2' }, 'hunter2'],
  ['a code that is good for a token', { path: '/callback?code=hunter2&state=1' }, 'hunter2'],
  ['the key of a model', { why: 'wrong key sk-proj-hunter2hunter2hunter2' }, 'hunter2'],
  [
    'a private key',
    { pem: `-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----` },
    'hunter2',
  ],
  [
    'a password in the message of an error',
    { error: new Error('no login: password=hunter2') },
    'hunter2',
  ],
  ['a password with an @ in an address', { url: 'amqp://me:hun@ter2@host/x' }, 'ter2'],
  ['a connection string', { why: 'Server=db;User Id=sa;Password=hunter2;' }, 'hunter2'],
  ['a key in JSON in a text', { body: '{"api_key": "hunter2", "x": 1}' }, 'hunter2'],
  ['a key in quotes', { why: `wrong apiKey='hunter2 hunter2'` }, 'hunter2'],
  ['a secret after a colon', { why: 'client_secret: hunter2' }, 'hunter2'],
  ['a header', { why: 'sent Authorization: hunter2, got 401' }, 'hunter2'],
  ['a token', { why: 'ACCESS_TOKEN=hunter2' }, 'hunter2'],
  ['a long token after a colon', { why: 'token: hunter2hunter2hunter2' }, 'hunter2'],
  ['JSON inside JSON', { error: new Error('body {\\"password\\":\\"hunter2\\"}') }, 'hunter2'],
  ['a cookie', { line: 'Set-Cookie: session=hunter2; HttpOnly' }, 'hunter2'],
  ['a user alone in an address', { url: 'https://hunter2hunter2@host/x' }, 'hunter2'],
  ['an argument', { line: 'mysql --password hunter2 -h db' }, 'hunter2'],
  ['an element', { line: '<password>hunter2</password>' }, 'hunter2'],
  ['an escaped pair', { line: 'x?PASSWORD%3Dhunter2' }, 'hunter2'],
  ['a short pair', { line: 'auth=hunter2 pass=hunter2' }, 'hunter2'],
  ['a key of a cloud', { line: 'AKIAIOSFODNN7EXAMPLE' }, 'IOSFODNN7'],
  ['a short key of a model', { line: 'Incorrect API key provided: sk-ab12' }, 'ab12'],
  ['deep down', { a: { b: { c: { d: [{ password: 'hunter2' }] } } } }, 'hunter2'],
  ['in an error and its cause', { error: failed() }, 'hunter2'],
])('%s is not logged', async (_, fields, secret) => {
  const { logger, written } = await lines();
  logger.error(fields, 'x');
  expect(written.join('')).not.toContain(secret);
});

test('fields that only resemble secrets are logged', async () => {
  const { logger, last } = await lines();
  const fields = {
    inputTokens: 12,
    hasPassword: true,
    token: null,
    key: 'a',
    keys: ['b'],
    code: 'E',
    why: 'Unexpected token: ] at 5; max_tokens=5, tokens: 12, key: a, the password is wrong',
  };
  logger.info(fields, 'x');
  expect(last()).toMatchObject(fields);
});

function failed(): Error {
  const cause = Object.assign(new Error('amqp://u:hunter2@h'), { code: 'E' });
  return new Error('Basic aHVudGVyMjpodW50ZXIy hunter', { cause });
}

test('errors are logged with their code, stack and cause', async () => {
  const { logger, last } = await lines();
  logger.error({ error: failed() }, 'x');
  expect(last()['error']).toMatchObject({
    type: 'Error',
    stack: expect.stringContaining('logger.test.ts'),
    cause: { code: 'E', message: 'amqp://u:[redacted]@h' },
  });
});

test('every line of a turn has its id, however deep it is written, and only once', async () => {
  const { logger, written, last } = await lines();
  await inLogScope({ turnId: 't.1' }, async () => {
    await Promise.resolve();
    logger.info({}, 'shared.logger');
    expect(last()).toMatchObject({ event: 'shared.logger', turnId: 't.1' });
    logger.child({ turnId: 't.1' }).info({}, 'own.logger');
    expect(written.at(-1)?.match(/turnId/g)).toHaveLength(1);
  });
  logger.info({}, 'outside');
  expect(last()).not.toHaveProperty('turnId');
});

test('every line is bounded and valid JSON', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.anything({ maxDepth: 8 })), (fields) => {
      const text = JSON.stringify(redact(fields));
      expect(typeof JSON.parse(text)).toBe('object');
    }),
    { numRuns: 200 },
  );
  const endless: Record<string, unknown> = {};
  endless['self'] = endless;
  expect(JSON.stringify(redact(endless)).length).toBeLessThan(1_000);
  const polluting = JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>;
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect(JSON.stringify(redact(polluting))).toContain('polluted');
});

test('a pretty line shows what the problem is as a sentence, and no control characters', () => {
  const written: string[] = [];
  const logger = createLogger({ format: 'pretty', write: (line) => written.push(line) });
  logger.warn({ file: 'a.yml', problem: 'a.yml:1:2 "b" is missing' }, 'project.warning');
  logger.warn({ reason: 'gone \u001B[2J' }, 'bus.connection.waiting');
  expect(written[0]).toContain('project.warning: a.yml:1:2 "b" is missing file="a.yml"\n');
  expect(written[1]).toContain('bus.connection.waiting reason="gone \\u001b[2J"\n');
});

test('the message of an error can neither control the terminal nor look like another line', () => {
  const written: string[] = [];
  const logger = createLogger({ format: 'pretty', write: (line) => written.push(line) });
  const error = new Error('no\u001b[2J\u009b2J\rgone\n12:30:01 info  audit.ok');
  logger.error({ error, from: 'a\u009b2J' }, 'x');
  const [head = '', first = '', second = '', frame = ''] = written.join('').split('\n');
  expect(head).toMatch(/ x from="a\uFFFD2J"$/);
  expect(first).toBe('Error: no\uFFFD[2J\uFFFD2J\uFFFDgone');
  expect(second).toBe('    12:30:01 info  audit.ok');
  expect(frame).toMatch(/^ {4}at /);
});

test('a pretty line starts with the time, the level and the event', async () => {
  const written: string[] = [];
  const logger = createLogger({ format: 'pretty', write: (line) => written.push(line) });
  logger.warn({ name: 'a "b"' }, 'project.warning');
  expect(written.join('')).toMatch(
    /^\S*\d\d:\d\d:\d\d\S* \S*warn\s+\S*\s?project\.warning name="a \\"b\\""\n$/,
  );
});
