import { expect, test } from 'vitest';
import { type CallerAccess, exampleRequests } from './example-requests.ts';

const url = 'https://bank.example';
const about = { text: 'hello', hasCard: true, hasChannel: true };
const jwt = {
  algorithms: ['ES256'],
  keys: undefined,
  issuer: undefined,
  audience: undefined,
} as const;

const accesses: readonly (readonly [string, CallerAccess, legate: string, curl: string])[] = [
  ['everyone', {}, '', ''],
  [
    'a token of the command line',
    { token: 'x' },
    ' --bearer "$TOKEN"',
    ' -H "Authorization: Bearer $TOKEN"',
  ],
  ['JWT', { auth: { jwt } }, ' --bearer "$TOKEN"', ' -H "Authorization: Bearer $TOKEN"'],
  [
    'API keys',
    { auth: { apiKeysPath: 'keys.json' } },
    ' --api-key "$API_KEY"',
    ' -H "X-Api-Key: $API_KEY"',
  ],
  [
    'certificates',
    { hasClientCertificates: true },
    ' --cert client.pem --key client.key',
    ' --cert client.pem --key client.key',
  ],
  [
    'a token or a certificate',
    { auth: { jwt }, hasClientCertificates: true },
    ' --bearer "$TOKEN"',
    ' -H "Authorization: Bearer $TOKEN"',
  ],
  [
    'a token and a certificate',
    { auth: { jwt, require: ['jwt', 'mtls'] }, hasClientCertificates: true },
    ' --bearer "$TOKEN" --cert client.pem --key client.key',
    ' -H "Authorization: Bearer $TOKEN" --cert client.pem --key client.key',
  ],
];

test.each(accesses)(
  'example requests have the credentials of a server for %s',
  (_, access, legate, curl) => {
    const commands = exampleRequests(url, { ...about, access }).map(({ command }) => command);
    expect(commands[0]).toBe(`npx legate send ${url} "hello"${legate}`);
    for (const command of commands.slice(1)) {
      expect(command.includes(command.startsWith('curl') ? curl : legate)).toBe(true);
    }
    // Secrets are variables of the shell, never the secrets themselves.
    expect(commands.join('\n')).not.toContain('Bearer x');
  },
);
