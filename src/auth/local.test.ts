import { expect, test } from 'vitest';
import { hostName, hostPort, isLocalName, isLocalOnly, isLocalRequest } from './local.ts';

const local = {
  headers: { host: 'localhost:5005' },
  socket: { remoteAddress: '127.0.0.1' },
  httpVersion: '1.1',
};

test.each(['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])(
  'a request from %s is local',
  (remoteAddress) => {
    expect(isLocalRequest({ ...local, socket: { remoteAddress } })).toBe(true);
  },
);

test.each(['10.0.0.7', '192.168.1.2', '203.0.113.9', '::', '0.0.0.0', 'fe80::1', '', undefined])(
  'a request from %j is not local',
  (remoteAddress) => {
    expect(isLocalRequest({ ...local, socket: { remoteAddress } })).toBe(false);
  },
);

test.each([
  'forwarded',
  'via',
  'x-forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-original-forwarded-for',
  'x-original-host',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'true-client-ip',
  'fastly-client-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'forwarded-for',
  'client-ip',
  'x-remote-ip',
  'x-proxyuser-ip',
  'x-azure-clientip',
  'x-appengine-user-ip',
  'cdn-loop',
  'cf-ray',
  'x-amzn-trace-id',
  'x-envoy-internal',
  'x_forwarded_for',
  'x_real_ip',
])('a request with %s is not local, whatever it says', (name) => {
  for (const value of ['127.0.0.1', 'for=127.0.0.1', '']) {
    const headers = { ...local.headers, [name]: value };
    expect(isLocalRequest({ ...local, headers })).toBe(false);
  }
});

test('a request over HTTP/1.0 is not local: nginx forwards so, and adds no header', () => {
  expect(isLocalRequest({ ...local, httpVersion: '1.0' })).toBe(false);
});

const localHosts = [
  'localhost',
  'LocalHost:5005',
  'app.localhost:80',
  '127.0.0.1',
  '127.0.0.1:5005',
  '[::1]:5005',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]:1',
];
test.each(localHosts)('Host: %s is a local name', (host) => {
  expect(isLocalRequest({ ...local, headers: { host } })).toBe(true);
});

/** What URL parsers and resolvers take for local, and what only looks like it. */
const foreignHosts = [
  undefined,
  '',
  'evil.example',
  'evil.example@localhost',
  'localhost@evil.example',
  'localhost#.evil.example',
  'localhost?.evil.example',
  'localhost/.evil.example',
  String.raw`localhost\.evil.example`,
  'local\thost',
  'localhost\t',
  ' localhost',
  'localhost:80:80',
  'localhost:x',
  'localhost.',
  'localhost.evil.example',
  '.localhost',
  'a..localhost',
  'xlocalhost',
  '%6cocalhost',
  'ｌocalhost',
  '127.0.0.1.evil.example',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '0177.0.0.1.nip.io',
  '0',
  '0.0.0.0',
  '[::]',
  '[::1',
  '::1',
  '[::1%25lo]',
  '[::ffff:10.0.0.1]',
  'localhost,evil.example',
];
test.each(foreignHosts)('Host: %j is not a local name', (host) => {
  expect(isLocalRequest({ ...local, headers: { host } })).toBe(false);
});

test('a Host field is its name in lower case, and its port', () => {
  expect(hostName('Agents.Example.com:8443')).toBe('agents.example.com');
  expect(hostPort('Agents.Example.com:8443')).toBe(8443);
  expect(hostPort('[::1]:5005')).toBe(5005);
  expect(hostPort('localhost')).toBeUndefined();
  expect(hostPort('localhost:')).toBeUndefined();
  expect(isLocalName('[::1]')).toBe(true);
});

test.each([
  [{ host: '127.0.0.1' }, true],
  [{ host: 'localhost', url: 'http://localhost:5005' }, true],
  [{ host: '::1', url: 'http://[::1]:5005' }, true],
  [{ host: '127.0.0.1', url: 'https://agents.example.com' }, false],
  [{ host: '127.0.0.1', hosts: ['box.example'] }, false],
  [{ host: '127.0.0.1', url: 'not a url' }, false],
  [{ host: '0.0.0.0' }, false],
  [{ host: '0' }, false],
  [{ host: '192.168.1.7', url: 'http://localhost' }, false],
  [{}, false],
])('a server with %j is reached by this machine only: %s', (reach, expected) => {
  expect(isLocalOnly(reach)).toBe(expected);
});
