import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { serveGrpc } from '../grpc/index.ts';
import { serve } from '../http/index.ts';
import { legate, start, patient } from './testing/legate-process.ts';
import { triedAgent } from './testing/tried-agent.ts';

interface About {
  readonly agents: readonly unknown[];
  readonly target?: { readonly url: string; readonly name?: string };
}

test(
  'inspect shows any agent by its address: the page talks to it through the server, as it is',
  patient,
  async () => {
    await using remote = await serve(triedAgent);
    const running = start(['inspect', remote.url, '--no-open']);
    // Each has a port of its own: the usual one may be the agent's.
    const second = start(['inspect', remote.url, '--no-open']);
    try {
      for (const one of [running, second]) {
        await expect.poll(() => one.out, { timeout: 60_000 }).toContain('Stop:');
      }
      const url = /^Inspector: {3}(http:\/\/localhost:\d+)/m.exec(running.out)?.[1] ?? '';
      const token =
        /^Inspector: {3}\S+\/inspect\/\?token=([\w-]{43})$/m.exec(running.out)?.[1] ?? '';
      expect((await fetch(`${url}/inspect/api/about`)).status).toBe(401);
      const headers = { authorization: `Bearer ${token}` };
      const about = await fetch(`${url}/inspect/api/about`, { headers });
      expect((await about.json()) as About).toMatchObject({
        agents: [],
        target: { url: remote.url, name: 'tried' },
        hasGrpc: true,
      });
      const direct = await (await fetch(`${remote.url}/.well-known/agent-card.json`)).text();
      const proxied = await fetch(`${url}/inspect/api/proxy`, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/octet-stream',
          'x-inspect-url': `${remote.url}/.well-known/agent-card.json`,
          'x-inspect-method': 'GET',
        },
      });
      expect(await proxied.text()).toBe(direct);
      // It is no A2A server of its own.
      expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(404);
      const page = await fetch(`${url}/inspect/`);
      expect(page.headers.get('content-type')).toContain('text/html');
    } finally {
      for (const { child } of [running, second]) child.kill('SIGTERM');
    }
    expect((await running.ended).code).toBe(0);
    expect((await second.ended).code).toBe(0);
  },
);

test('inspect calls the agent over gRPC, at an address without a scheme', patient, async () => {
  await using near = await serve(triedAgent);
  await using remote = await serveGrpc(near.router, { port: 0 });
  const card = {
    ...(await (await fetch(`${near.url}/.well-known/agent-card.json`)).json()),
    supportedInterfaces: [
      { url: `127.0.0.1:${remote.port}`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
    ],
  };
  const host = createServer((_, response) => response.end(JSON.stringify(card)));
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  const { port } = host.address() as AddressInfo;
  const running = start(['inspect', `http://127.0.0.1:${port}`, '--no-open']);
  try {
    await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
    const [, url = '', token = ''] =
      /^Inspector: {3}(\S+)\/inspect\/\?token=(\S+)$/m.exec(running.out) ?? [];
    const answer = await fetch(`${url}/inspect/api/grpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        url: `127.0.0.1:${remote.port}`,
        version: '1.0',
        operation: 'sendMessage',
        request: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'reply' }] } },
        headers: { 'A2A-Version': '1.0' },
      }),
    });
    expect(await answer.text()).toContain('Plainly said');
  } finally {
    running.child.kill('SIGTERM');
    host.closeAllConnections();
    await new Promise((resolve) => host.close(resolve));
  }
  expect((await running.ended).code).toBe(0);
});

test('inspect without an agent there says so, with the exit codes of calls', patient, async () => {
  const gone = await serve(triedAgent);
  await gone.close();
  const { code, err } = await legate(['inspect', gone.url, '--no-open']);
  expect(code).toBe(3);
  expect(err).toContain('A2ACLI_ERR_UNREACHABLE');
});
