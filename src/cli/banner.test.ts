import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../test/certificate.ts';
import { busFolder, type BusFolder, type Running, slow } from './testing.contract.ts';
import { environment } from './testing/environment.ts';

const authority = makeCertificate({ commonName: 'authority', isAuthority: true });
const server = makeCertificate({
  commonName: 'localhost',
  alternativeNames: ['DNS:localhost'],
  issuer: authority,
});
const tls = ['--ssl-certificate', 'server.pem', '--ssl-keyfile', 'server.key'];

/** Runs the printed command as a user who has installed the package. */
function pasted(folder: BusFolder, running: Running, env: NodeJS.ProcessEnv = {}) {
  const command = /^Try it: +(.*)$/m.exec(running.out())?.[1] ?? '';
  const legate = `${process.execPath} ${import.meta.dirname}/../../bin/legate.cjs`;
  const line = command.replace('npx legate', legate);
  const done = spawnSync('sh', ['-c', line], {
    cwd: folder.directory,
    env: { ...environment, ...env },
    encoding: 'utf8',
  });
  return { command, status: done.status, out: done.stdout };
}

test.each([
  ['an agent', ['run', 'agent.ts', '-p', '0', ...tls], {}],
  [
    'a gateway',
    ['gateway', 'NAME', '--work', 'agent.ts', '-p', '0', '-t', 'sesame', ...tls],
    { TOKEN: 'sesame' },
  ],
])('the example of %s behind a private authority works as printed', slow, async (_, args, env) => {
  await using folder = await busFolder({
    'endpoints.yml': 'bus: {type: memory}\nstore: {type: memory}\n',
    'ca.pem': authority.certificate,
    'server.pem': server.certificate,
    'server.key': server.key,
  });
  const named = args.map((arg) => (arg === 'NAME' ? folder.name : arg));
  await using running = folder.start(named);
  await running.says('Stop:');
  const { command, status, out } = pasted(folder, running, env);
  expect(command).toContain(' --ca ca.pem');
  expect({ status, out }).toMatchObject({ status: 0, out: expect.stringContaining('echo hello') });
});
