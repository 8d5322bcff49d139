import { expect, test } from 'vitest';
import type { AgentInterface } from '../protocol/index.ts';
import { chooseInterface } from './interface-choice.ts';
import { agentCard } from './testing/fixtures.ts';

function offers(...interfaces: [binding: string, version: string, url?: string][]) {
  const supportedInterfaces = interfaces.map(
    ([protocolBinding, protocolVersion, url], index): AgentInterface => ({
      url: url ?? `https://agent.example/${index}`,
      protocolBinding,
      protocolVersion,
    }),
  );
  return { ...agentCard({ url: 'https://agent.example' }), supportedInterfaces };
}

const chosenPath = (...args: Parameters<typeof chooseInterface>) =>
  chooseInterface(...args).url.pathname;

test('the first interface that is spoken is chosen, in the card’s order (8.3.2)', () => {
  expect(chosenPath(offers(['GRPC', '1.0'], ['HTTP+JSON', '1.0'], ['JSONRPC', '1.0']))).toBe('/1');
});

test('a preferred binding goes before the order', () => {
  const card = offers(['HTTP+JSON', '1.0'], ['JSONRPC', '1.0']);
  expect(chosenPath(card, { binding: 'JSONRPC' })).toBe('/1');
});

test('a preferred binding that is not offered does not matter', () => {
  expect(chosenPath(offers(['HTTP+JSON', '1.0']), { binding: 'JSONRPC' })).toBe('/0');
});

test('a newer version goes before the order and before the preferred binding (3.6.3)', () => {
  const card = offers(['JSONRPC', '0.3'], ['HTTP+JSON', '1.0']);
  expect(chosenPath(card)).toBe('/1');
  expect(chosenPath(card, { binding: 'JSONRPC' })).toBe('/1');
});

test('an older version is chosen where it is asked for, or where there is no other', () => {
  expect(chosenPath(offers(['JSONRPC', '1.0'], ['JSONRPC', '0.3']), { version: '0.3' })).toBe('/1');
  expect(chosenPath(offers(['JSONRPC', '0.3']))).toBe('/0');
});

test('a version that was asked for and is not offered is an error', () => {
  expect(() => chooseInterface(offers(['JSONRPC', '0.3']), { version: '1.0' })).toThrow(
    'it lists JSONRPC 0.3, and this client speaks JSONRPC and HTTP+JSON over http and https, in 1.0',
  );
});

const given = {
  binding: 'GRPC',
  locate: (address: string) => URL.parse(`https://${address}`) ?? undefined,
  open: () => {
    throw new Error('nothing is opened to choose');
  },
} as const;

test('gRPC is spoken where its binding was given, in the card’s order', () => {
  const card = offers(['GRPC', '1.0', 'agent.example:50051'], ['JSONRPC', '1.0']);
  expect(chooseInterface(card)).toMatchObject({ binding: 'JSONRPC' });
  expect(chooseInterface(card, { binding: 'GRPC' })).toMatchObject({ binding: 'JSONRPC' });
  const { binding, url, version } = chooseInterface(card, { bindings: [given] });
  expect([binding, url.href, version]).toEqual(['GRPC', 'https://agent.example:50051/', '1.0']);
  expect(chooseInterface(card, { bindings: [given], binding: 'JSONRPC' }).binding).toBe('JSONRPC');
});

test('an address that the given binding cannot make out is passed over', () => {
  const card = offers(['GRPC', '1.0', 'no address'], ['JSONRPC', '1.0']);
  expect(chooseInterface(card, { bindings: [given], binding: 'GRPC' }).binding).toBe('JSONRPC');
});

test('an error tells which bindings are spoken', () => {
  expect(() => chooseInterface(offers(['NATS', '1.0']), { bindings: [given] })).toThrow(
    'it lists NATS 1.0, and this client speaks JSONRPC and HTTP+JSON over http and https, and GRPC, in 1.0 and 0.3',
  );
});

test.each([
  ['1.0.5', '1.0'],
  ['0.3.0', '0.3'],
  ['0.2.6', '0.3'],
])('version %s is spoken to as %s', (declared, spoken) => {
  expect(chooseInterface(offers(['jsonrpc', declared])).version).toBe(spoken);
});

test.each(['2.0', '1.1', '10.0', '0.1', 'latest'])('version %s is not spoken', (declared) => {
  expect(() => chooseInterface(offers(['JSONRPC', declared]))).toThrow(/offers no interface/);
});

test.each(['agent.example:443', '/rpc', 'ftp://agent.example', 'https://u:p@agent.example'])(
  'the address %s is passed over',
  (url) => {
    expect(chosenPath(offers(['JSONRPC', '1.0', url], ['JSONRPC', '1.0']))).toBe('/1');
  },
);
