import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { agent, completed } from '../../src/agents/index.ts';
import { requestPreparer } from '../../src/client/index.ts';
import { grpcBinding, serveGrpc } from '../../src/grpc/index.ts';
import { serve } from '../../src/http/index.ts';
import { bakery, inspectorToken } from '../../src/http/inspector/testing/inspected-server.ts';
import { closeChromium } from '../support/chromium.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

/** An agent of somebody else, that sends what it is told to send. */
async function foreignAgent(answer: (body: string) => string, card: object = {}) {
  const seen: { path: string; body: string; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { authorization } = request.headers;
      seen.push({ path: request.url ?? '', body, authorization });
      const url = `http://localhost:${(server.address() as AddressInfo).port}/rpc`;
      const isCard = request.method === 'GET';
      response.writeHead(200, {
        'content-type': isCard ? 'application/json' : 'text/event-stream',
      });
      response.end(isCard ? JSON.stringify({ ...validCard(url), ...card }) : answer(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    seen,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

const validCard = (url: string) => ({
  name: 'elsewhere',
  description: 'Another implementation.',
  version: '1',
  capabilities: { streaming: true },
  // It says that it takes text only.
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'a', name: 'A', description: 'a', tags: ['a'] }],
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
});

/** An inspector as `legate inspect URL` starts it. */
function inspectorOf(url: string) {
  return serve(
    agent({ name: 'none', description: '' }, () => completed()),
    {
      a2a: false,
      drainMs: 0,
      inspect: {
        token: inspectorToken,
        proxy: true,
        bindings: async () => [grpcBinding()],
        target: { url, fetch, prepare: requestPreparer({ auth: { bearer: 'from-the-terminal' } }) },
      },
    },
  );
}

/** Spaces, comments, retry hints and numbers as no encoder of ours would write them. */
const oddFrames = (id: unknown, result: string): string =>
  `: hello\nretry: 3000\nid: 7\ndata: {"jsonrpc": "2.0",  "id": ${JSON.stringify(id)}, "result": ${result}}\n\n`;

test(
  'what the agent sent is shown byte for byte, and an image is sent though its card has no image',
  patient,
  async () => {
    const result =
      '{"message": {"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": "n\\u00eft"}], "extra": 1.50}}';
    let sent = '';
    await using foreign = await foreignAgent((body) => {
      const { id } = JSON.parse(body) as { id: unknown };
      sent = oddFrames(id, result);
      return sent;
    });
    await using inspector = await inspectorOf(foreign.url);
    await using open = await openPage(`http://localhost:${inspector.port}`);
    const { page } = open;
    await page.getByRole('button', { name: 'Agent: elsewhere' }).waitFor();
    await page.getByLabel('Files to attach').setInputFiles({
      name: 'dot.png',
      mimeType: 'image/png',
      buffer: Buffer.from('not really a picture'),
    });
    await page.locator('.attachment').waitFor();
    await open.say('look');
    await page.locator('.turn').getByText('nït').waitFor();
    const call = foreign.seen.at(-1);
    expect(call?.path).toBe('/rpc');
    expect(call?.body).toContain('"mediaType":"image/png"');
    expect(call?.authorization).toBe('Bearer from-the-terminal');

    await page.getByRole('tab', { name: 'Wire' }).click();
    // The card is fetched by the page, so that it is on the wire, too.
    const requests = page.getByRole('listbox', { name: 'Requests' }).getByRole('option');
    expect(await requests.last().textContent()).toContain('Card');
    await page.getByRole('button', { name: 'As received' }).click();
    expect(await page.locator('.wire-raw').textContent()).toBe(sent);
    // Credentials of the terminal are not in the page.
    expect(await page.content()).not.toContain('from-the-terminal');
  },
);

test('an invalid answer is marked with the rule that it breaks', patient, async () => {
  await using foreign = await foreignAgent((body) => {
    const { id } = JSON.parse(body) as { id: unknown };
    return oddFrames(id, '{"task": {"id": "t1", "status": {"state": "done"}}}');
  });
  await using inspector = await inspectorOf(foreign.url);
  await using open = await openPage(`http://localhost:${inspector.port}`);
  const { page } = open;
  await page.getByRole('button', { name: 'Agent: elsewhere' }).waitFor();
  await open.say('look');
  await page.getByRole('tab', { name: /^Wire/ }).click();
  const verdict = page.locator('.verdict.bad').last();
  await verdict.getByText(/status\.state/).waitFor();
  await verdict
    .getByText(/A2A 1\.0/)
    .first()
    .waitFor();
});

test('an empty response is marked invalid', patient, async () => {
  await using foreign = await foreignAgent(() => '');
  await using inspector = await inspectorOf(foreign.url);
  await using open = await openPage(`http://localhost:${inspector.port}`);
  const { page } = open;
  await page.getByRole('button', { name: 'Agent: elsewhere' }).waitFor();
  await open.say('look');
  await page.getByRole('tab', { name: /^Wire/ }).click();
  const newest = page.getByRole('listbox', { name: 'Requests' }).getByRole('option').first();
  await newest.getByText('invalid').waitFor({ state: 'attached' });
  await page.getByText('the response is empty').waitFor();
});

test('an agent with an invalid card is talked to all the same', patient, async () => {
  await using foreign = await foreignAgent(
    (body) => {
      const { id } = JSON.parse(body) as { id: unknown };
      return oddFrames(
        id,
        '{"message": {"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": "here"}]}}',
      );
    },
    { description: undefined, capabilities: 'all of them' },
  );
  await using inspector = await inspectorOf(foreign.url);
  await using open = await openPage(`http://localhost:${inspector.port}`);
  await open.page.getByRole('button', { name: 'Agent: elsewhere' }).waitFor();
  await open.say('look');
  await open.page.locator('.turn').getByText('here').waitFor();
});

test('an agent is called over gRPC', patient, async () => {
  await using near = await serve(bakery, { drainMs: 0 });
  await using remote = await serveGrpc(near.router, { port: 0 });
  const card = {
    supportedInterfaces: [
      { url: `localhost:${remote.port}`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
    ],
  };
  await using foreign = await foreignAgent(() => '', card);
  await using inspector = await serve(bakery, {
    drainMs: 0,
    inspect: { token: inspectorToken, proxy: true, bindings: async () => [grpcBinding()] },
  });
  await using open = await openPage(`http://localhost:${inspector.port}`);
  const { page } = open;
  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.getByRole('combobox', { name: 'Agent', exact: true }).selectOption('');
  await page.getByLabel('Address of the agent or of its card').fill(foreign.url);
  await page.getByLabel('Binding').selectOption('GRPC');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('GRPC 1.0').first().waitFor();
  await open.say('hello');
  await page.locator('.turn').getByText('You said: hello').waitFor();
  await page.getByRole('tab', { name: 'Wire' }).click();
  const row = page.locator('.wire-row', { hasText: 'GRPC 1.0' });
  await expect.poll(() => row.first().locator('.badge').textContent()).toBe('OK');

  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.getByLabel('Responses').selectOption('whole');
  await page.getByRole('button', { name: 'Connect' }).click();
  await open.say('again');
  const unary = row.filter({ hasText: 'SendMessage' });
  await expect.poll(() => unary.locator('.badge').textContent()).toBe('OK');
});

test(
  'a reload keeps answers that are plain messages, which only the page has',
  patient,
  async () => {
    await using foreign = await foreignAgent((body) =>
      oddFrames(
        (JSON.parse(body) as { id: unknown }).id,
        '{"message": {"messageId": "m1", "contextId": "c1", "role": "ROLE_AGENT", "parts": [{"text": "plain as can be"}]}}',
      ),
    );
    await using inspector = await inspectorOf(foreign.url);
    await using open = await openPage(`http://localhost:${inspector.port}`);
    const { page } = open;
    await page.getByRole('button', { name: 'Agent: elsewhere' }).waitFor();
    await open.say('look');
    await page.reload();
    await page.locator('.turn').getByText('plain as can be').waitFor();
    expect(await page.locator('.turn .bubble.own').allTextContents()).toEqual(['look']);
  },
);

test('a binding that the card does not have is said to be missing', patient, async () => {
  await using remote = await serve(bakery, { drainMs: 0 });
  await using inspector = await inspectorOf(remote.url);
  await using open = await openPage(`http://localhost:${inspector.port}`);
  const { page } = open;
  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.getByLabel('Binding').selectOption('GRPC');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText(/JSONRPC 1\.0 \(the card has no GRPC\)/).waitFor();
});

test('a reload keeps the conversation with an agent elsewhere', patient, async () => {
  await using remote = await serve(bakery, { drainMs: 0 });
  await using inspector = await inspectorOf(remote.url);
  await using open = await openPage(`http://localhost:${inspector.port}`);
  const { page } = open;
  await page.getByRole('button', { name: 'Agent: bakery' }).waitFor();
  await open.say('report');
  await open.say('hello');
  await page.reload();
  await page.locator('.turn').getByText('Weekly report').waitFor();
  await page.locator('.turn').getByText('You said: hello').waitFor();
  await open.say('again');
  expect(await page.locator('.turn .bubble.own').allTextContents()).toEqual([
    'report',
    'hello',
    'again',
  ]);
  // The other views say where its tasks are, and show its card.
  await page.goto(`http://localhost:${inspector.port}/inspect/#/tasks`);
  await page.getByText('keeps its tasks on its own server').waitFor();
  await page.goto(`http://localhost:${inspector.port}/inspect/#/network`);
  await page.getByText('Only the server of the inspected agent records its callers').waitFor();
  expect(await page.locator('.net-node').count()).toBe(0);
  await page.goto(`http://localhost:${inspector.port}/inspect/#/peers`);
  await page.locator('.pair-detail').getByRole('heading', { name: 'bakery' }).waitFor();
});
