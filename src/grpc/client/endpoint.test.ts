import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { locate } from './endpoint.ts';

test.each([
  ['agent.example:50051', 'https://agent.example:50051'],
  ['agent.example:443', 'https://agent.example'],
  ['AGENT.example:80', 'https://agent.example:80'],
  ['unix:50051', 'https://unix:50051'],
  ['10.0.0.1:50051', 'https://10.0.0.1:50051'],
  ['[2001:db8::1]:50051', 'https://[2001:db8::1]:50051'],
  ['https://agent.example:50051', 'https://agent.example:50051'],
  ['grpcs://agent.example', 'https://agent.example'],
  ['grpcs://localhost:50051/', 'https://localhost:50051'],
])('%s is spoken to over TLS', (address, origin) => {
  expect(locate(address)?.origin).toBe(origin);
});

test.each([
  ['localhost:50051', 'http://localhost:50051'],
  ['localhost:443', 'http://localhost:443'],
  ['127.0.0.1:50051', 'http://127.0.0.1:50051'],
  ['[::1]:50051', 'http://[::1]:50051'],
  ['http://agent.example:50051', 'http://agent.example:50051'],
  ['GRPC://agent.example:50051', 'http://agent.example:50051'],
])('%s is spoken to in plain text', (address, origin) => {
  expect(locate(address)?.origin).toBe(origin);
});

test.each([
  '',
  'agent.example',
  'agent.example:0',
  'agent.example:99999',
  'unix:/run/agent.sock',
  'unix:///run/agent.sock',
  'dns:///agent.example:50051',
  'ipv4:10.0.0.1:50051',
  'ftp://agent.example',
  'https://user:secret@agent.example:50051',
  'https://agent.example/grpc',
  'https://agent.example?key=1',
  'https://agent.example?',
  'https://agent.example#',
  'agent.example:50051,other.example:50051',
  '__proto__://agent.example',
])('%s is not an address', (address) => {
  expect(locate(address)).toBeUndefined();
});

test('whatever a card says, an address is a host and a port or it is none', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc
      .tuple(
        fc.constantFrom('', 'grpc://', 'https://', 'unix:', 'dns:///'),
        fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.string()),
        fc.integer({ min: -1, max: 70_000 }),
      )
      .map(([scheme, host, port]) => `${scheme}${host}:${port}`),
  );
  fc.assert(
    fc.property(text, (address) => {
      const url = locate(address);
      if (url === undefined) return;
      expect(url.href).toBe(`${url.origin}/`);
      expect(url.protocol).toMatch(/^https?:$/);
      expect(url.hostname).not.toBe('');
    }),
  );
});
