import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LegateError } from '../protocol/index.ts';
import { resolveChecked } from './guarded-agent.ts';
import {
  checkUrl,
  httpsOrLoopbackPolicy,
  publicPolicy,
  type UrlPolicy,
  UrlRefused,
} from './policy.ts';

const privateToo: UrlPolicy = {
  schemes: ['http', 'https'],
  allowLoopback: true,
  allowPrivate: true,
};

function problem(url: string, policy: UrlPolicy): string | undefined {
  try {
    checkUrl(url, policy);
    return undefined;
  } catch (error) {
    if (!(error instanceof UrlRefused)) throw error;
    return error.message;
  }
}

test.each([
  'https://example.com/tck-push-webhook',
  'http://example.com',
  'https://EXAMPLE.com/Path?a=b',
  'https://hooks.example.com:8443/x',
  'https://93.184.216.34/',
  'https://[2606:4700::1111]/',
  'https://bücher.example/',
  'https://xn--bcher-kva.example/',
])('the sealed policy takes %s without asking DNS', (url) => {
  expect(problem(url, publicPolicy)).toBeUndefined();
});

test.each([
  ['loopback', 'http://127.0.0.1/'],
  ['loopback range', 'http://127.255.255.254/'],
  ['loopback name', 'http://localhost/'],
  ['loopback name in capitals', 'http://LOCALHOST/'],
  ['loopback subdomain', 'http://a.localhost/'],
  ['decimal', 'http://2130706433/'],
  ['hexadecimal', 'http://0x7f000001/'],
  ['hexadecimal parts', 'http://0x7f.0.0.1/'],
  ['octal', 'http://0177.0.0.1/'],
  ['short form', 'http://127.1/'],
  ['zero', 'http://0/'],
  ['unspecified', 'http://0.0.0.0/'],
  ['percent-encoded', 'http://%31%32%37.0.0.1/'],
  ['full-width digits', 'http://１２７.0.0.1/'],
  ['ideographic dots', 'http://127。0。0。1/'],
  ['public address as a number', 'http://134744072/'],
  ['address with a trailing dot', 'http://127.0.0.1./'],
  ['IPv6 loopback', 'http://[::1]/'],
  ['IPv6 loopback, long', 'http://[0:0:0:0:0:0:0:1]/'],
  ['IPv6 unspecified', 'http://[::]/'],
  ['IPv4-mapped', 'http://[::ffff:127.0.0.1]/'],
  ['IPv4-mapped in hexadecimal', 'http://[::ffff:7f00:1]/'],
  ['IPv4-compatible', 'http://[::127.0.0.1]/'],
  ['IPv4-translated', 'http://[::ffff:0:7f00:1]/'],
  ['6to4', 'http://[2002:7f00:1::]/'],
  ['Teredo', 'http://[2001::1]/'],
  ['NAT64', 'http://[64:ff9b::7f00:1]/'],
  ['local NAT64', 'http://[64:ff9b:1::7f00:1]/'],
  ['RFC 1918 10/8', 'http://10.1.2.3/'],
  ['RFC 1918 172.16/12', 'http://172.31.255.255/'],
  ['RFC 1918 192.168/16', 'http://192.168.0.1/'],
  ['carrier-grade NAT', 'http://100.64.0.1/'],
  ['unique local', 'http://[fd12::1]/'],
  ['link-local', 'http://169.254.169.254/latest/meta-data'],
  ['IPv6 link-local', 'http://[fe80::1]/'],
  ['site-local', 'http://[fec0::1]/'],
  ['multicast', 'http://224.0.0.1/'],
  ['IPv6 multicast', 'http://[ff02::1]/'],
  ['broadcast', 'http://255.255.255.255/'],
  ['reserved', 'http://240.0.0.1/'],
  ['documentation', 'http://192.0.2.1/'],
  ['IPv6 documentation', 'http://[2001:db8::1]/'],
  ['benchmarking', 'http://198.18.0.1/'],
  ['unassigned IPv6', 'http://[4000::1]/'],
  ['a metadata service on a public address', 'http://168.63.129.16/'],
  ['single label', 'http://redis/'],
  ['.internal', 'http://metadata.google.internal/'],
  ['.local', 'http://printer.local/'],
  ['user name', 'https://user@example.com/'],
  ['password', 'https://user:secret@example.com/'],
  ['user name that looks like a host', 'https://example.com@10.0.0.1/'],
  ['fragment', 'https://example.com/#a'],
  ['empty fragment', 'https://example.com/#'],
  ['trailing dot', 'https://example.com./'],
  ['port 0', 'https://example.com:0/'],
  ['port of another service', 'http://example.com:25/'],
  ['port too high', 'https://example.com:70000/'],
  ['ftp', 'ftp://example.com/'],
  ['file', 'file:///etc/passwd'],
  ['javascript', 'javascript:alert(1)'],
  ['data', 'data:text/plain,hello'],
  ['no scheme', 'example.com/hook'],
  ['no slashes', 'http:example.com'],
  ['three slashes', 'http:///example.com'],
  ['backslash', 'https://example.com\\@10.0.0.1/'],
  ['newline', 'https://exam\nple.com/'],
  ['tab', 'https://exam\tple.com/'],
  ['space', 'https://example.com/ HTTP/1.1'],
  ['zone id', 'http://[fe80::1%25eth0]/'],
  ['empty', ''],
  ['too long', `https://example.com/${'a'.repeat(2_048)}`],
])('the public policy refuses %s', (_what, url) => {
  expect(problem(url, publicPolicy)).toMatch(/^url: /);
});

test.each([
  'http://169.254.169.254/',
  'http://[fe80::1]/',
  'http://0.0.0.0/',
  'http://224.0.0.1/',
  'http://[2002:a00:1::]/',
  'http://[64:ff9b::a00:1]/',
  'http://100.100.100.200/',
  'http://[fd00:ec2::254]/',
])('%s stays refused where loopback and private networks are allowed', (url) => {
  expect(problem(url, privateToo)).toContain('never allowed');
});

test.each(['http://127.0.0.1:8080/', 'http://10.0.0.1/', 'http://redis-gateway/', 'http://[::1]/'])(
  'a policy for private networks takes %s',
  (url) => {
    expect(problem(url, privateToo)).toBeUndefined();
  },
);

test('https or loopback: plain http is for this machine only', () => {
  expect(problem('https://example.com/', httpsOrLoopbackPolicy)).toBeUndefined();
  expect(problem('http://localhost:9/', { ...httpsOrLoopbackPolicy, ports: [9] })).toBeUndefined();
  expect(problem('http://127.0.0.1:8080/', httpsOrLoopbackPolicy)).toBeUndefined();
  expect(problem('http://example.com/', httpsOrLoopbackPolicy)).toBe(
    'url: must be an https address (http is for loopback only)',
  );
  expect(problem('https://10.0.0.1/', httpsOrLoopbackPolicy)).toContain('private network');
});

test('allowed hosts match exactly or as a subdomain, never as a suffix of a label', () => {
  const policy = { ...publicPolicy, allowedHosts: ['Example.com'] };
  expect(problem('https://example.com/', policy)).toBeUndefined();
  expect(problem('https://a.b.example.com/', policy)).toBeUndefined();
  expect(problem('https://evilexample.com/', policy)).toContain('not on the list');
  expect(problem('https://example.com.evil.net/', policy)).toContain('not on the list');
});

test('an allowed host does not open the private network', () => {
  const policy = { ...publicPolicy, allowedHosts: ['10.0.0.1', 'localhost'] };
  expect(problem('http://10.0.0.1/', policy)).toContain('private network');
  expect(problem('http://localhost/', policy)).toContain('loopback');
});

test('a host listed by name is allowed as that name only', () => {
  const policy = { ...publicPolicy, allowedNames: ['localhost', '10.0.0.1'] };
  expect(problem('http://localhost:8080/', policy)).toBeUndefined();
  expect(problem('http://10.0.0.1/', policy)).toBeUndefined();
  for (const other of [
    'http://127.0.0.1:8080/',
    'http://[::1]:8080/',
    'http://localhost.:8080/',
    'http://%6cocalhost:8080/',
    'http://a.localhost:8080/',
    'http://167772161/',
    'http://[::ffff:10.0.0.1]/',
  ]) {
    expect(problem(other, policy), other).toBeDefined();
  }
});

test('a refusal is INVALID_PARAMS and names the field', () => {
  const error = (() => {
    try {
      return checkUrl('http://10.0.0.1/', publicPolicy, { field: 'configuration.url' });
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(LegateError);
  expect(error).toMatchObject({
    code: 'INVALID_PARAMS',
    violations: [
      {
        field: 'configuration.url',
        description: 'host 10.0.0.1 is on a private network, which is not allowed',
      },
    ],
  });
});

test('whatever the text, the answer is a URL of an allowed scheme or a refusal', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.webUrl(),
        fc.ipV4().map((ip) => `http://${ip}/`),
      ),
      (text) => {
        const found = problem(text, publicPolicy);
        if (found !== undefined) return;
        const url = checkUrl(text, publicPolicy);
        expect(url.protocol).toMatch(/^https?:$/);
        expect(url.username + url.password + url.hash).toBe('');
      },
    ),
  );
});

test('no IPv4 address gets through in one notation that is refused in another', () => {
  fc.assert(
    fc.property(fc.ipV4(), (dotted) => {
      const number = dotted.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
      const isRefused = problem(`http://${dotted}/`, publicPolicy) !== undefined;
      expect(problem(`http://${number}/`, publicPolicy)).toBeDefined();
      expect(problem(`http://0x${number.toString(16)}/`, publicPolicy)).toBeDefined();
      expect(problem(`http://[::ffff:${dotted}]/`, publicPolicy) !== undefined).toBe(isRefused);
    }),
  );
});

test.each([
  ['http://hooks.shop.svc.cluster.local/', '10.0.0.7', true],
  ['http://svc.cluster.local/', '10.0.0.7', false],
  ['http://svc.cluster.local.evil.example/', '10.0.0.7', false],
  ['http://evilsvc.cluster.local/', '10.0.0.7', false],
  ['http://hooks.shop.svc.cluster.local/', '127.0.0.1', false],
  ['http://hooks.shop.svc.cluster.local/', '169.254.169.254', false],
  ['http://hooks.shop.svc.cluster.local/', 'fd00:ec2::254', false],
  ['http://10.0.0.7/', '10.0.0.7', false],
])('*.svc.cluster.local: %s at %s is allowed: %s', async (url, address, isAllowed) => {
  const policy = { ...publicPolicy, allowedNames: ['*.svc.cluster.local'], allowedHosts: [] };
  const check = async (): Promise<readonly string[]> => {
    const { hostname } = checkUrl(url, policy);
    const resolver = async () => [address];
    return resolveChecked(hostname, { scheme: 'http', policy, resolver, dnsTimeout: 1_000 });
  };
  const allowed = await check().then(
    () => true,
    () => false,
  );
  expect(allowed).toBe(isAllowed);
});
