/** `legate run --ssl-*`: HTTPS for everything an assistant serves, as an operator would start it. */
import { spawn } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCertificate } from '../certificate.ts';
import { greenhouseFolder } from '../support/greenhouse.ts';

const command = join(import.meta.dirname, '../../bin/legate.cjs');

interface Asking {
  readonly ca: string;
  /** Shows a certificate. */
  readonly cert?: string;
  readonly key?: string;
  readonly method?: string;
}

function ask(url: string, options: Asking): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
    const outgoing = httpsRequest(url, { ...options, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

test('a certificate, its locked key and an authority: HTTPS, and callers show a certificate of theirs', async () => {
  await using folder = await greenhouseFolder();
  const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
  const pair = makeCertificate({
    commonName: 'server',
    issuer: authority,
    alternativeNames: ['DNS:localhost'],
  });
  const password = 'open sesame';
  const locked = createPrivateKey(pair.key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: password,
  });
  const path = (name: string): string => join(folder.directory, name);
  await writeFile(path('endpoints.yml'), 'a2a_server: {description: Waters plants.}\n');
  await writeFile(path('server.pem'), pair.certificate);
  await writeFile(path('server-key.pem'), locked);
  await writeFile(path('ca.pem'), authority.certificate);
  const flags = [
    ['--ssl-certificate', path('server.pem')],
    ['--ssl-keyfile', path('server-key.pem')],
    ['--ssl-ca-file', path('ca.pem')],
  ].flat();
  const child = spawn(
    process.execPath,
    [command, 'run', folder.directory, '-p', '0', ...flags, '--ssl-password', password],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  try {
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    await expect
      .poll(() => /at (https:\/\/localhost:\d+)/.exec(said)?.[1], { timeout: 20_000 })
      .toBeDefined();
    const url = /at (https:\/\/localhost:\d+)/.exec(said)?.[1] ?? '';
    const ca = authority.certificate;
    const card = await ask(`${url}/.well-known/agent-card.json`, { ca });
    expect(card.status).toBe(200);
    expect(JSON.parse(card.text)).toMatchObject({
      supportedInterfaces: expect.arrayContaining([expect.objectContaining({ url })]),
      securitySchemes: { mtls: {} },
    });
    const partner = makeCertificate({ commonName: 'partner', issuer: authority });
    const shown = { ca, cert: partner.certificate, key: partner.key };
    expect((await ask(`${url}/tasks`, { ca })).status).toBe(401);
    expect((await ask(`${url}/tasks`, shown)).status).toBe(200);
    await expect(fetch(url.replace('https', 'http'))).rejects.toThrow();
    expect(said).not.toContain(password);
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
});
