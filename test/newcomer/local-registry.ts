import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

interface Manifest {
  readonly name: string;
  readonly version: string;
}

/**
 * A package registry that has what a checkout has installed, so that `npm install` can be tried
 * without a network. Packages are packed when they are asked for.
 */
export class LocalRegistry implements AsyncDisposable {
  readonly #root: string;
  readonly #server: Server;
  /** Folders by name and version. */
  readonly #packages = new Map<string, Map<string, string>>();

  private constructor(root: string) {
    this.#root = root;
    this.#server = createServer((request, response) => {
      this.#answer(decodeURIComponent(request.url ?? '/')).then(
        (body) =>
          body === undefined
            ? response.writeHead(404).end('{}')
            : response.writeHead(200).end(body),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  }

  static async open(root: string): Promise<LocalRegistry> {
    const registry = new LocalRegistry(root);
    await registry.#read();
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #read(): Promise<void> {
    const lock = JSON.parse(await readFile(join(this.#root, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { version?: string; dev?: boolean }>>;
    };
    for (const [folder, { version, dev }] of Object.entries(lock.packages)) {
      const isThere = existsSync(join(this.#root, folder, 'package.json'));
      if (!folder.startsWith('node_modules/') || version === undefined) continue;
      if (dev === true || !isThere) continue;
      const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
      const versions = this.#packages.get(name) ?? new Map<string, string>();
      this.#packages.set(name, versions.set(version, join(this.#root, folder)));
    }
  }

  async #answer(path: string): Promise<string | Buffer | undefined> {
    const [, name = '', version] = /^\/(.+?)(?:\/-\/(.+)\.tgz)?$/.exec(path) ?? [];
    const versions = this.#packages.get(name);
    if (versions === undefined) return undefined;
    if (version === undefined) return this.#describe(name, versions);
    const folder = versions.get(version);
    return folder === undefined ? undefined : pack(folder);
  }

  async #describe(name: string, versions: ReadonlyMap<string, string>): Promise<string> {
    const described: Record<string, object> = {};
    for (const [version, folder] of versions) {
      const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
      described[version] = {
        ...manifest,
        dist: { tarball: `${this.url}${name}/-/${version}.tgz` },
      };
    }
    const latest = [...versions.keys()].at(-1);
    return JSON.stringify({ name, 'dist-tags': { latest }, versions: described });
  }
}

/** npm leaves out the first folder of whatever is in a package, so it may have any name. */
async function pack(folder: string): Promise<Buffer> {
  const name = basename(folder);
  const { stdout } = await run(
    'tar',
    ['-cz', '--exclude', `${name}/node_modules`, '-C', dirname(folder), name],
    { encoding: 'buffer', maxBuffer: 256 * 1024 * 1024 },
  );
  return stdout;
}
