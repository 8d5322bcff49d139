import { expect, test } from 'vitest';
import type { ClientBinding } from '../../client/index.ts';
import type { AgentCard } from '../../protocol/index.ts';
import { openMemory } from '../../store/index.ts';
import { Directory } from '../directory/directory.ts';
import { PeerClients } from './peer-clients.ts';

function cardOf(port: number): AgentCard {
  const url = `http://127.0.0.1:${port}`;
  return {
    name: 'bob',
    description: '',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
}

/** A binding that notes which addresses are open. */
function noting(open: string[]): ClientBinding {
  const away = async (): Promise<never> => {
    throw new Error('not called here');
  };
  return {
    binding: 'GRPC',
    locate: (url) => new URL(url),
    open: ({ url }) => {
      open.push(url.port);
      return { call: away, stream: away, close: () => open.splice(open.indexOf(url.port), 1) };
    },
  };
}

test('a peer has one client until its card changes or the owner closes', async () => {
  const directory = new Directory({ records: openMemory().records });
  const open: string[] = [];
  const grpc = () => noting(open);
  const clients = new PeerClients({ directory, transportKind: 'grpc', grpc, client: {} });
  await directory.register({ name: 'bob', card: cardOf(1) });
  const [first, same] = await Promise.all([clients.get('bob'), clients.get('BOB')]);
  expect(same).toBe(first);
  await directory.register({ name: 'bob', card: cardOf(2) });
  expect(await clients.get('bob')).not.toBe(first);
  await expect.poll(() => open).toEqual(['2']);
  await clients.close();
  expect(open).toEqual([]);
  await expect(clients.get('bob')).rejects.toThrow(/shutting down/);
});
