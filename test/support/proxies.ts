import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, installPackage, note, serverDirectory, startProcess } from './servers.ts';

const deploy = join(import.meta.dirname, '../../deploy');

/** Starts a proxy in front of replicas; returns its URL. */
export type StartProxy = (replicas: readonly string[]) => Promise<string>;

/** nginx with `deploy/nginx.conf`. Replicas are found without Docker's DNS here, by an upstream. */
export async function startNginx(replicas: readonly string[]): Promise<string> {
  const port = await freePort();
  const directory = serverDirectory('nginx');
  const server = replaced(readFileSync(join(deploy, 'nginx.conf'), 'utf8'), [
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['resolver 127.0.0.11 valid=2s;', ''],
    ['http://assistant:5005', 'http://replicas'],
  ]);
  const hosts = replicas.map((url) => `server ${new URL(url).host};`).join(' ');
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const text = [
    process.getuid?.() === 0 ? 'user root;' : '',
    'daemon off; worker_processes 1; pid nginx.pid; error_log stderr;',
    'events {}',
    'http {',
    'access_log off;',
    ...paths.map((path) => `${path}_temp_path ${join(directory, path)};`),
    `upstream replicas { ${hosts} }`,
    server,
    '}',
  ].join('\n');
  writeFileSync(join(directory, 'nginx.conf'), text);
  return start('nginx', ['-p', directory, '-c', 'nginx.conf', '-e', 'stderr'], directory, port);
}

/** HAProxy with `deploy/haproxy.cfg`. */
export async function startHaproxy(replicas: readonly string[]): Promise<string> {
  const port = await freePort();
  const directory = serverDirectory('haproxy');
  const text = replaced(readFileSync(join(deploy, 'haproxy.cfg'), 'utf8'), [
    ['bind :80', `bind 127.0.0.1:${port}`],
    ...replicas.map(
      (url, index) => [`replica${index + 1}:5005`, new URL(url).host] as [string, string],
    ),
  ]);
  writeFileSync(join(directory, 'haproxy.cfg'), text);
  return start('haproxy', ['-db', '-f', 'haproxy.cfg'], directory, port);
}

/** A sample that no longer has the line is an error, or the test would run something else. */
function replaced(sample: string, lines: readonly (readonly [from: string, to: string])[]): string {
  return lines.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the sample has no "${from}"`);
    return text.replace(from, to);
  }, sample);
}

async function start(
  name: 'nginx' | 'haproxy',
  args: readonly string[],
  directory: string,
  port: number,
): Promise<string> {
  const binary = `/usr/sbin/${name}`;
  if (!existsSync(binary)) {
    installPackage(name, `These tests need ${name}: install it (Debian: apt-get install ${name}).`);
  }
  const child = startProcess(binary, args, { directory });
  note(child, directory);
  let said = '';
  child.stderr?.on('data', (data: Buffer) => (said += data.toString()));
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (child.exitCode !== null) break;
    if (await isReady(url)) return url;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${name} did not start: ${said}`);
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/ready`)).ok;
  } catch {
    return false;
  }
}
