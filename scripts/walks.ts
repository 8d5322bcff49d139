/**
 * Counts the files and functions of src/ that one operation runs through, by V8's precise coverage.
 * Usage: node scripts/walks.ts. The third walk uses RabbitMQ at AMQP_URL, or the in-memory bus without
 * it.
 *
 * Each walk runs twice and only the second run is counted, which excludes work that happens once per
 * process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { agent, textOf } from '../src/agents/index.ts';
import { busLink, hostOnBus, openBus } from '../src/bus/index.ts';
import { serveAssistant } from '../src/assistant/index.ts';
import { serve } from '../src/http/index.ts';
import { artifact } from '../src/protocol/index.ts';
import { openMemory } from '../src/store/index.ts';
import { joinPeers } from '../src/peers/index.ts';

const root = join(import.meta.dirname, '..');
const source = `${pathToFileURL(join(root, 'src')).href}/`;
const session = new Session();
session.connect();
await session.post('Profiler.enable');

async function measure(name: string, walk: () => Promise<unknown>): Promise<void> {
  await walk();
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await walk();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  const crossed = result
    .filter(({ url }) => url.startsWith(source))
    .map(({ url, functions }) => ({
      file: url.slice(source.length),
      calls: functions.filter(({ functionName, ranges }) => {
        const [whole] = ranges;
        return functionName !== '' && whole !== undefined && whole.count > 0;
      }).length,
    }))
    .filter(({ calls }) => calls > 0);
  const functions = crossed.reduce((sum, { calls }) => sum + calls, 0);
  console.log(`${name}: ${crossed.length} files, ${functions} functions`);
  if (process.env['WALKS_FILES'] !== undefined)
    for (const { file, calls } of crossed.toSorted((a, b) => a.file.localeCompare(b.file)))
      console.log(`  ${file} ${calls}`);
}

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield artifact(textOf(turn.message));
});
const folder = mkdtempSync(join(tmpdir(), 'legate-walks-'));
try {
  {
    await using server = await serve(echo, {
      store: { type: 'sqlite', path: join(folder, 'send.db') },
    });
    const body = (id: string): string =>
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId: id, role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
      });
    let sent = 0;
    await measure('SendMessage on SQLite', async () => {
      sent += 1;
      const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
      const response = await fetch(server.url, { method: 'POST', headers, body: body(`m${sent}`) });
      const answer = await response.text();
      if (!answer.includes('TASK_STATE_COMPLETED')) throw new Error(answer);
    });
  }
  {
    await using server = await serveAssistant({
      places: { directory: join(root, 'examples/bank') },
      store: { type: 'sqlite', path: join(folder, 'chat.db') },
    });
    const url = new URL('/webhooks/rest/webhook', server.url);
    await measure('A chat message through the REST channel', async () => {
      const body = JSON.stringify({ sender: 'walker', message: 'what is my balance' });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body });
      const answer = await response.text();
      if (!answer.includes('recipient_id')) throw new Error(answer);
    });
  }
  {
    const { AMQP_URL: broker } = process.env;
    await using bus = await openBus(
      broker ? { type: 'rabbitmq', url: broker, exchange: 'walks' } : { type: 'memory' },
    );
    await using host = await hostOnBus(echo, { bus });
    await using peers = await joinPeers({
      name: 'walker',
      store: openMemory(),
      links: [busLink({ bus })],
      wellKnown: [{ name: host.name }],
    });
    const caller = { tenant: '', subject: 'walker', method: 'local' };
    await measure('A call to a peer over RabbitMQ', () =>
      peers.invoker.invokeAndWait(
        { agent: 'echo', skill: 'echo', message: 'hi' },
        { id: 'c', caller },
      ),
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
  session.disconnect();
}
