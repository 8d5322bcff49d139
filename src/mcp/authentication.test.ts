import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { authenticationHeaders } from './authentication.ts';

const ask = { url: 'https://peer.example', isRejected: false };

interface Received {
  readonly authorization: string | undefined;
  readonly body: string;
}

async function tokenServer(answer: (count: number) => { status?: number; body: string }) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      received.push({ authorization: request.headers.authorization, body });
      const { status = 200, body: text } = answer(received.length);
      response.writeHead(status, { 'content-type': 'application/json' }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function read(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
}

const oauth = (tokenUrl: string) =>
  ({ kind: 'oauth', clientId: 'us', clientSecret: 's3/cret', tokenUrl, scope: 'read' }) as const;

test('an API key goes into the header and the form that are named', async () => {
  const key = {
    kind: 'api_key',
    key: '$&k',
    headerName: 'X-Key',
    headerFormat: 'Key {key}',
  } as const;
  expect(await authenticationHeaders(key)(ask)).toEqual({ 'X-Key': 'Key $&k' });
  const plain = authenticationHeaders({ kind: 'api_key', key: 'k' });
  expect(await plain(ask)).toEqual({ Authorization: 'Bearer k' });
  expect(() => authenticationHeaders({ ...key, headerFormat: 'Bearer' })).toThrow(/\{key\}/);
});

test('a token is a bearer token', async () => {
  const headers = authenticationHeaders({ kind: 'token', token: 't' });
  expect(await headers(ask)).toEqual({ Authorization: 'Bearer t' });
});

test('client credentials are exchanged once, and again when the token expires or is refused', async () => {
  await using server = await tokenServer((count) => ({
    body: JSON.stringify({ access_token: `token-${count}`, expires_in: 3600 }),
  }));
  let now = 0;
  const headers = authenticationHeaders(oauth(server.url), { clock: { now: () => now } });
  const both = await Promise.all([headers(ask), headers(ask)]);
  expect(both).toEqual([{ Authorization: 'Bearer token-1' }, { Authorization: 'Bearer token-1' }]);
  expect(server.received).toEqual([
    {
      authorization: `Basic ${Buffer.from('us:s3%2Fcret').toString('base64')}`,
      body: 'grant_type=client_credentials&scope=read',
    },
  ]);
  now = 3_530_000;
  expect(await headers(ask)).toEqual({ Authorization: 'Bearer token-1' });
  now = 3_541_000;
  expect(await headers(ask)).toEqual({ Authorization: 'Bearer token-2' });
  expect(await headers({ ...ask, isRejected: true })).toEqual({ Authorization: 'Bearer token-3' });
});

test('a token of a minute is used for half of its life', async () => {
  await using server = await tokenServer((count) => ({
    body: JSON.stringify({ access_token: `token-${count}`, expires_in: 60 }),
  }));
  let now = 0;
  const headers = authenticationHeaders(oauth(server.url), { clock: { now: () => now } });
  await headers(ask);
  now = 29_000;
  expect(await headers(ask)).toEqual({ Authorization: 'Bearer token-1' });
  now = 31_000;
  expect(await headers(ask)).toEqual({ Authorization: 'Bearer token-2' });
});

for (const [name, answer, message] of [
  [
    'refuses us',
    { status: 401, body: '{"error":"invalid_client"}' },
    /answered 401 \(invalid_client\)/,
  ],
  ['answers nonsense', { body: '<html>' }, /without an access_token/],
  ['answers too much', { body: `{"x":"${'y'.repeat(100_000)}"}` }, /did not answer/],
  ['is down', { status: 503, body: 'oops s3/cret' }, /answered 503$/],
] as const) {
  test(`a token server that ${name} is an error without secrets`, async () => {
    await using server = await tokenServer(() => answer);
    const headers = authenticationHeaders(oauth(server.url));
    const failure = await Promise.resolve(headers(ask)).catch((error: unknown) => error as Error);
    expect(failure).toBeInstanceOf(Error);
    expect((failure as Error).message).toMatch(message);
    expect((failure as Error).message).not.toContain('s3');
  });
}

test('a secret does not travel over plain http, nor within an address', () => {
  expect(() => authenticationHeaders(oauth('http://tokens.example/'))).toThrow(/use https/);
  expect(() => authenticationHeaders(oauth('https://u:p@tokens.example/'))).toThrow(
    /user or password/,
  );
  expect(() => authenticationHeaders(oauth('ftp://tokens.example/'))).toThrow(/http or https/);
});
