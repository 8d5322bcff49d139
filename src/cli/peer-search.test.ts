import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { agent } from '../agents/index.ts';
import { serve } from '../http/index.ts';
import { startScriptedModelServer } from '../models/index.ts';
import { openMemory } from '../store/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { readEndpoints } from './endpoints.ts';
import { openCommandPeers } from './peers.ts';

async function projectWith(endpoints: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'legate-peers-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'endpoints.yml'), endpoints);
  return directory;
}

test('peers.embeddings finds services by their meaning, with a model group of endpoints.yml', async () => {
  await using embeddings = await startScriptedModelServer([], {
    embed: (texts) => texts.map((text) => (/train|railway/i.test(text) ? [1, 0.1] : [0.1, 1])),
  });
  const trains = agent({ name: 'timetables', description: 'Knows trains.' }, async () => 'at 9');
  const cook = agent({ name: 'cook', description: 'Bakes bread.' }, async () => 'done');
  await using one = await serve(trains, { port: 0, logger: silentLogger });
  await using other = await serve(cook, { port: 0, logger: silentLogger });
  const directory = await projectWith(`
peers:
  well_known: [{name: timetables, url: ${one.url}}, {name: cook, url: ${other.url}}]
  embeddings: {model_group: vectors}
model_groups:
  - id: vectors
    models: [{provider: openai-compatible, model: small, api_base: "${embeddings.url}"}]
`);
  const endpoints = await readEndpoints(directory, {});
  const store = openMemory();
  await using peers = await openCommandPeers({
    endpoints,
    name: 'desk',
    store,
    storage: { type: 'memory' },
    logger: silentLogger,
  });
  await peers.network?.start();
  const found = await peers.network?.directory.search('railway');
  expect(found?.[0]).toMatchObject({ id: 'timetables', fit: 1 });
  expect(embeddings.calls.length).toBeGreaterThan(0);
});

test('a model group that is not there is refused, with the place and the nearest name', async () => {
  const directory = await projectWith(`
peers:
  embeddings: {model_group: vector}
model_groups:
  - id: vectors
    models: [{provider: ollama, model: nomic-embed-text}]
`);
  await expect(readEndpoints(directory, {})).rejects.toThrow(
    /endpoints\.yml:3:\d+.*peers\.embeddings\.model_group.*no model group "vector".*did you mean "vectors"/s,
  );
});
