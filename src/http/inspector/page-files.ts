import type { IncomingMessage, ServerResponse } from 'node:http';
import { hash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { nothing } from './inspection.ts';
import { findPage } from './page-build.ts';

interface PageFile {
  readonly content: Buffer;
  readonly type: string;
  readonly etag: string;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The files of the page, read once. Nothing else can be asked for, so no path leads elsewhere. */
export class PageFiles {
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  /** `hasProxy`: other agents are called through the server, so the page needs nobody else. */
  async send(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    hasProxy: boolean,
  ): Promise<void> {
    this.#files ??= readFiles();
    const files = await this.#files.catch((error: unknown) => {
      this.#files = undefined;
      throw error;
    });
    const file = files.get(name === '' ? 'index.html' : name);
    if (file === undefined) throw nothing(`file ${name.slice(0, 100)} of the inspector`);
    const headers = {
      etag: file.etag,
      // Built files have a fingerprint in their names; the page itself names them.
      'cache-control': name.startsWith('assets/')
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': securityPolicy(hasProxy),
    };
    if (request.headers['if-none-match'] === file.etag) {
      response.writeHead(304, headers).end();
      return;
    }
    response.writeHead(200, {
      ...headers,
      'content-type': file.type,
      'content-length': file.content.length,
    });
    response.end(request.method === 'HEAD' ? undefined : file.content);
  }
}

/** Scripts and styles are our own files and nothing else; no page may frame this one. */
function securityPolicy(hasProxy: boolean): string {
  const elsewhere = hasProxy ? '' : ' https: http://localhost:* http://127.0.0.1:*';
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src 'self'${elsewhere}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

async function readFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const folder = await findPage();
  const names = await readdir(folder, { recursive: true });
  const files = new Map<string, PageFile>();
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const content = await readFile(join(folder, name));
    const etag = `"${hash('sha256', content, 'base64url').slice(0, 27)}"`;
    files.set(name.replaceAll('\\', '/'), { content, type, etag });
  }
  return files;
}
