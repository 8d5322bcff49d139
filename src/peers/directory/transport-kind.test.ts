import { expect, test } from 'vitest';
import type { AgentCard, AgentInterface } from '../../protocol/index.ts';
import { anchored, busInterface, plainBinding, transportKindOf } from './transport-kind.ts';

function offered(protocolBinding: string, url: string): AgentInterface {
  return { url, protocolBinding, protocolVersion: '1.0' };
}

function card(...supportedInterfaces: AgentInterface[]): AgentCard {
  return {
    name: 'Bob',
    description: 'Does things',
    version: '1',
    supportedInterfaces,
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
}

test.each([
  [busInterface('bob'), 'bus'],
  [offered('JSONRPC', 'https://bob.example'), 'http'],
  [offered('http+json', 'http://127.0.0.1:80'), 'http'],
  [offered(plainBinding, 'https://bob.example'), 'plain'],
  [offered('GRPC', 'bob.example:50051'), 'grpc'],
  [offered('grpc', '[::1]:50051'), 'grpc'],
  [offered('GRPC', 'grpcs://bob.example'), 'grpc'],
  [offered('GRPC', 'https://bob.example:50051'), 'grpc'],
  [offered('GRPC', 'unix:/run/bob.sock'), undefined],
  [offered('JSONRPC', 'bob.example:50051'), undefined],
  [offered('SOAP', 'https://bob.example'), undefined],
])('%o is reached over %s', (each, reach) => {
  expect(transportKindOf(each)).toBe(reach);
});

test('a fetched card is held to its address, and for gRPC to the machine, which has another port for it', () => {
  const rpc = offered('JSONRPC', 'https://bob.example/rpc');
  const grpc = offered('GRPC', 'bob.example:50051');
  const evil = [offered('JSONRPC', 'https://evil.example'), offered('GRPC', 'evil.example:50051')];
  expect(anchored(card(...evil, rpc, grpc), 'https://bob.example').supportedInterfaces).toEqual([
    rpc,
    grpc,
  ]);
  // Nothing of it is here: then it is the address itself, in the way that web servers speak.
  expect(anchored(card(...evil), 'https://bob.example/').supportedInterfaces).toEqual([
    { url: 'https://bob.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ]);
});
