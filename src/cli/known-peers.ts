import { existsSync } from 'node:fs';
import { present } from '../config/index.ts';
import { Directory, readKnownAgents } from '../peers/index.ts';
import { openStore } from '../store/index.ts';
import { storeScheduler } from '../tasks/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import type { PeersCommandOptions } from './commands/workers.ts';
import { configuredStore, openAsGuest, readEndpoints } from './endpoints.ts';
import { loadAgent } from './load-agent.ts';
import { oneLine, printResult } from './print.ts';
import { readNamedFile } from './usage.ts';

/** Adds the agents of a `known-agents.json` to the directory of an agent. */
export async function importPeers(
  file: string,
  agent: string,
  options: PeersCommandOptions,
): Promise<void> {
  const peers = readKnownAgents(await readNamedFile(file));
  await inDirectory(agent, options, async (directory, name) => {
    const added = await directory.import(peers);
    const known = peers.length - added;
    const text = `Added to ${name}: ${added}${known === 0 ? '' : `, known already: ${known}`}`;
    printResult({ agent: name, added, known }, text, options);
  });
}

/** Lists the peers of an agent. */
export async function listPeers(agent: string, options: PeersCommandOptions): Promise<void> {
  await inDirectory(agent, options, async (directory, name) => {
    const peers = await directory.list();
    for (const { name: peer, origin, url, lastSeen, card } of peers) {
      const skills = card.skills.map(({ id }) => id);
      const fields = { name: peer, origin, ...present({ url }), lastSeen, skills };
      const shown = [peer, origin, url ?? 'bus', lastSeen, skills.join(', ') || 'no skills known'];
      // Cards come from other agents and can contain control sequences.
      printResult(fields, shown.map(oneLine).join('  '), options);
    }
    if (peers.length === 0 && options.json !== true) console.error(`${name} knows no agents yet.`);
  });
}

/** Removes an agent that was imported, registered or announced. */
export async function removePeer(
  peer: string,
  agent: string,
  options: PeersCommandOptions,
): Promise<void> {
  await inDirectory(agent, options, async (directory, name) => {
    await directory.unregister(peer);
    printResult({ agent: name, removed: peer }, `${name} no longer knows ${peer}.`, options);
  });
}

/** Opens the directory of an agent, which can be running. Does not change well-known peers. */
async function inDirectory(
  source: string,
  options: PeersCommandOptions,
  action: (directory: Directory, name: string) => Promise<void>,
): Promise<void> {
  const { endpoints: file } = options;
  const loaded = await loadAgent(source, { ...present({ endpoints: file }), logger: silentLogger });
  const endpoints = await readEndpoints(loaded.directory, {
    ...present({ endpoints: file }),
    ignoresBus: true,
  });
  const storage = configuredStore(endpoints, options.store, loaded.storeFile);
  const isNew = storage.type === 'sqlite' && !existsSync(storage.path);
  const store = await (storage.type === 'memory' || isNew
    ? openStore(storage)
    : openAsGuest(storage));
  const name = options.name ?? loaded.agent.name;
  const directory = new Directory({
    records: store.records,
    self: name,
    scheduler: storeScheduler(store),
  });
  try {
    await action(directory, name);
  } finally {
    directory.stop();
    await store.close();
  }
}
