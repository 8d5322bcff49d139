import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../test/certificate.ts';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { generateSigningKey } from '../push/index.ts';
import {
  agentModule,
  busFolder,
  type BusFolder,
  type Running,
  slow,
  start,
} from './testing.contract.ts';

const newKey = (): string =>
  generateSigningKey().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** The name in the certificate that a server presents. */
function presented(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const { CN } = socket.getPeerCertificate().subject;
      socket.end();
      resolve(String(CN));
    });
    socket.once('error', reject);
  });
}

function writeCertificate(folder: BusFolder, commonName: string): void {
  const { certificate, key } = makeCertificate({ commonName });
  writeFileSync(join(folder.directory, 'host.pem'), certificate);
  writeFileSync(join(folder.directory, 'host.key'), key);
}

async function hangUp(folder: BusFolder, running: Running): Promise<void> {
  appendFileSync(join(folder.directory, 'endpoints.yml'), '# changed\n');
  running.child.kill('SIGHUP');
  await running.says(/endpoints\.yml has changed: restart to apply it/);
}

test.each(['work', 'gateway'] as const)(
  'SIGHUP: legate %s signs with the new key, keeps running, and names what needs a restart',
  slow,
  async (command) => {
    await using folder = await busFolder({ 'own.pem': newKey() }, ', signing_key: own.pem');
    const args = {
      work: ['work', 'agent.ts'],
      gateway: ['gateway', folder.name, '-p', '0', '--auth-token', 'sesame'],
    };
    await using running = folder.start(args[command]);
    await running.says('Stop:');
    writeFileSync(join(folder.directory, 'own.pem'), newKey());
    await hangUp(folder, running);
    expect(running.err()).toMatch(/bus\.signing_key \(\S*own\.pem\): reloaded/);
    writeFileSync(join(folder.directory, 'own.pem'), 'not a key');
    running.child.kill('SIGHUP');
    await running.says(/own\.pem\): not usable, the former ones stay in use/);
    expect((await running.stop()).code).toBe(0);
  },
);

test(
  'SIGHUP: legate run presents the new certificate, keeps running, and names what needs a restart',
  slow,
  async () => {
    await using folder = await busFolder();
    writeCertificate(folder, 'first');
    const tls = ['--ssl-certificate', 'host.pem', '--ssl-keyfile', 'host.key'];
    await using running = folder.start(['run', 'agent.ts', '-p', '0', ...tls]);
    await running.says(/https:\/\/\S+:\d+/);
    const port = Number(/https:\/\/[^\s/]+:(\d+)/.exec(running.out() + running.err())?.[1]);
    await expect.poll(() => presented(port)).toBe('first');
    writeCertificate(folder, 'second');
    await hangUp(folder, running);
    // The server may have looked at its files just before the signal.
    expect(running.err()).toMatch(
      /tls certificate \(\S*host\.pem, \S*host\.key\): (?:reloaded|unchanged)/,
    );
    expect(await presented(port)).toBe('second');
    expect((await running.stop()).code).toBe(0);
  },
);

interface ServedCard {
  readonly url: string;
  readonly signatures?: readonly { readonly protected: string }[];
}

async function cardAt(url: string): Promise<ServedCard> {
  const response = await fetch(`${url}/.well-known/agent-card.json`);
  return (await response.json()) as ServedCard;
}

/** The names of the keys that signed the card, without repetition. */
async function signersOf(url: string): Promise<readonly string[]> {
  const { signatures = [] } = await cardAt(url);
  const kids = signatures.map(({ protected: header }) => {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
    return kid;
  });
  return [...new Set(kids)];
}

test.each([
  ['an assistant', ['run', 'bank']],
  ['an agent in code', ['run', 'code/agent.ts']],
  ['a gateway', ['gateway', 'desk', '--work', 'code/agent.ts']],
])('SIGHUP: the card of %s is signed again with the new key', slow, async (_, args) => {
  const [first, second] = [generateSigningKey(), generateSigningKey()];
  const pem = ({ privateKey }: typeof first): string =>
    privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const endpoints =
    'bus: {type: memory}\nstore: {type: memory}\n' +
    'a2a_server: {description: Helps., card_signing_key: card.pem}\n';
  await using folder = await busFolder({
    'bank/config.yml': 'assistant_id: bank\n',
    'bank/domain.yml':
      'version: "3.1"\nsession_config: {start_session_after_expiry: false, session_expiration_time: 0}\n',
    'endpoints.yml': endpoints,
    'code/agent.ts': agentModule('desk'),
    ...Object.fromEntries(
      ['bank', 'code'].map((name) => [
        `${name}/endpoints.yml`,
        endpoints.replace('bus: {type: memory}\n', ''),
      ]),
    ),
    ...Object.fromEntries(['', 'bank/', 'code/'].map((at) => [`${at}card.pem`, pem(first)])),
  });
  await using running = folder.start([...args, '-p', '0']);
  await running.says('Stop:');
  const url = /at (http:\/\/\S+)/.exec(running.out())?.[1] ?? '';
  expect(await signersOf(url)).toEqual([first.kid]);
  for (const at of ['', 'bank/', 'code/']) {
    writeFileSync(join(folder.directory, `${at}card.pem`), pem(second));
  }
  running.child.kill('SIGHUP');
  await running.says(/a2a_server\.card_signing_key \(\S*card\.pem\): reloaded/);
  expect(await signersOf(url)).toEqual([second.kid]);
});

test('SIGHUP names every file of the project that changed, is new or is gone', slow, async () => {
  const subAgent =
    'agent: {name: helper, description: Helps.}\nconfiguration: {module: ./helper.ts}\n';
  await using folder = await greenhouseFolder({
    'endpoints.yml': 'store: {type: memory}\n',
    'sub_agents/helper/config.yml': subAgent,
    'sub_agents/helper/helper.ts': 'export async function* run() {}\n',
    'data/old.yml': 'flows: {}\n',
  });
  await using running = start(['run', folder.directory, '-p', '0']);
  await running.says('Stop:');
  running.child.kill('SIGHUP');
  await running.says(/SIGHUP:\n {2}nothing to reload/);
  for (const file of ['config.yml', 'domain.yml', 'data/flows.yml', 'endpoints.yml']) {
    appendFileSync(folder.path(file), '# changed\n');
  }
  appendFileSync(folder.path('sub_agents/helper/config.yml'), '# changed\n');
  writeFileSync(folder.path('data/more.yml'), 'flows: {}\n');
  writeFileSync(folder.path('results.txt'), 'not part of the project');
  rmSync(folder.path('data/old.yml'));
  running.child.kill('SIGHUP');
  await running.says(/old\.yml is gone/);
  const named = running
    .err()
    .matchAll(/^ {2}\S+\/([^/\s]+) (has changed|is new|is gone): restart to apply it$/gm)
    .map(([, file, change]) => `${file} ${change}`);
  expect([...named].toSorted()).toEqual([
    'config.yml has changed',
    'config.yml has changed',
    'domain.yml has changed',
    'endpoints.yml has changed',
    'flows.yml has changed',
    'more.yml is new',
    'old.yml is gone',
  ]);
});
