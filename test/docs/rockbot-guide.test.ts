import { exec, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { type Envelope, RockbotPeer } from '../../src/bus/rockbot/rockbot.contract.ts';
import { blocksOf } from '../newcomer/markdown.ts';
import { rabbitMq } from '../support/rabbitmq.ts';
import { freePort } from '../support/servers.ts';

const root = join(import.meta.dirname, '../..');
const legate = join(root, 'bin/legate.cjs');

/** Answers every task with its text. */
async function answer({ correlationId, replyTo, body }: Envelope, peer: RockbotPeer) {
  const ids = { taskId: body.taskId, contextId: body.contextId };
  const { parts } = body.message as { parts: readonly { text: string }[] };
  const message = { role: 'agent', parts: [{ kind: 'text', text: `About ${parts[0]?.text}` }] };
  const result = { ...ids, state: 3, message };
  await peer.publish(replyTo, 'AgentTaskResult', result, { correlationId });
}

test(
  'the request of the guide to a gateway in compatibility mode reaches RockBot, and its answer comes back',
  { timeout: 180_000 },
  async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'legate-rockbot-guide-'));
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    const { url } = await rabbitMq();
    const exchange = `rockbot-guide-${process.pid}`;
    const bus = `bus: {type: rabbitmq, url: "\${AMQP_URL}", dialect: rockbot, exchange: ${exchange}}\n`;
    await writeFile(join(cwd, 'endpoints.yml'), bus);
    await writeFile(join(cwd, 'keys.json'), '[{"subject": "bob", "key": "my-key"}]');
    await using rockbot = await RockbotPeer.start({
      url,
      exchange,
      name: 'RockBot',
      topics: ['agent.task.RockBot'],
      onMessage: answer,
    });
    const port = await freePort();
    const args = ['gateway', 'RockBot', '--port', String(port), '--api-keys', 'keys.json'];
    const child = spawn(process.execPath, [legate, ...args, '--compatibility', 'rockbot'], {
      cwd,
      env: { ...process.env, AMQP_URL: url },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => (output += String(chunk)));
    }
    await expect.poll(() => output, { timeout: 90_000 }).toContain('Serving agents');
    const guide = await readFile(join(root, 'docs/guides/rockbot.md'), 'utf8');
    const curl = blocksOf(guide).find(({ body }) => body.startsWith('curl -X POST'))?.body ?? '';
    const send = async (command: string): Promise<string> =>
      (await promisify(exec)(command.replace('localhost:5200', `127.0.0.1:${port}`))).stdout;
    expect(curl).toContain('"SendMessage"');
    for (const method of ['SendMessage', 'message/send', 'message/sendStream']) {
      const said = await send(curl.replace('SendMessage', method));
      expect(said).toContain('About What is the weather?');
      expect(said).toContain('TASK_STATE_COMPLETED');
    }
    expect(rockbot.of('AgentTaskRequest')[0]).toMatchObject({
      body: { skill: 'notify-user' },
      headers: { 'rb-rb-auth-claims': expect.stringContaining('"sub":"bob"') as unknown },
    });
    const refused = await send(curl.replace('my-key', 'wrong'));
    expect(refused).not.toContain('About');
  },
);
