import { statSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { cardProblems, errorCode } from '../../protocol/index.ts';
import { type Diagnosis, failed, passed, probeTimeoutMs, skipped, warning } from './diagnosis.ts';

const neededNode = { major: 22, minor: 18 };

export function examineNode(version = process.versions.node): Diagnosis {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough =
    major > neededNode.major || (major === neededNode.major && minor >= neededNode.minor);
  return isNewEnough
    ? passed('Node', version)
    : failed(
        'Node',
        `${version} is too old`,
        `install Node ${neededNode.major}.${neededNode.minor} or newer`,
      );
}

/**
 * Checks whether the port is free. If a server uses it, checks whether that server is the expected agent, by
 * the possible names in its card, and whether the card is valid.
 */
export async function examinePort(
  port: number,
  names: readonly string[] = [],
): Promise<readonly Diagnosis[]> {
  const problem = await portProblem(port);
  if (problem === undefined) {
    return [
      passed('Port', `${port} is free`),
      skipped('Card', `no server on port ${port}; start one with "legate run"`),
    ];
  }
  if (problem !== 'EADDRINUSE') {
    const fix =
      problem === 'EACCES'
        ? 'choose a port above 1023 with --port'
        : 'choose another port with --port';
    return [failed('Port', `${port} cannot be opened: ${problem}`, fix)];
  }
  const fix = `stop the process that uses it (see "lsof -i :${port}"), or choose another port with --port`;
  const found = await cardAt(port);
  if (found === undefined) {
    return [failed('Port', `${port} is used by a process that is not an A2A agent`, fix)];
  }
  const { name, card } = found;
  const isOther = name !== undefined && names.length > 0 && !names.includes(name);
  const used = `${port} is used by ${isOther ? 'another' : 'an'} agent`;
  const described = name === undefined ? used : `${used}, "${name}"`;
  return [isOther ? warning('Port', described, fix) : passed('Port', described), card];
}

function portProblem(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(undefined)));
  });
}

interface FoundCard {
  /** Undefined if the card is protected or has no name. */
  readonly name?: string;
  readonly card: Diagnosis;
}

/** The card of a server on this machine, over HTTP or HTTPS. */
async function cardAt(port: number): Promise<FoundCard | undefined> {
  for (const scheme of ['http', 'https'] as const) {
    const url = `${scheme}://localhost:${port}/.well-known/agent-card.json`;
    try {
      const { status, body } = await get(url);
      if (status === 401) return { card: skipped('Card', 'the card requires authentication') };
      // HTTP to a TLS port gets another status, or no response.
      if (status === 200) return examineCard(url, JSON.parse(body));
    } catch (error) {
      if (scheme === 'https' && needsCertificate(error)) {
        return { card: skipped('Card', 'the server requires a client certificate') };
      }
      // The listener does not speak this protocol, or JSON.
    }
  }
  return undefined;
}

/** Whether a TLS alert means that the server requires a client certificate. */
function needsCertificate(error: unknown): boolean {
  return /CERTIFICATE_REQUIRED|BAD_CERTIFICATE|HANDSHAKE_FAILURE/.test(errorCode(error) ?? '');
}

/** Maximum size of a card, in bytes. */
const maxCardBytes = 1024 * 1024;

function get(url: string): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      signal: AbortSignal.timeout(probeTimeoutMs),
      headers: { 'A2A-Version': '1.0' },
      // The request contains no secrets, and the certificate can be for a public name.
      rejectUnauthorized: false,
    };
    const request = (url.startsWith('https:') ? https : http).get(url, options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
        if (body.length > maxCardBytes) request.destroy(new Error('the card is too large'));
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}

function examineCard(url: string, card: unknown): FoundCard {
  const isNamed = typeof card === 'object' && card !== null && 'name' in card;
  return {
    ...(isNamed && typeof card.name === 'string' && { name: card.name }),
    card: diagnosisOf(url, card),
  };
}

function diagnosisOf(url: string, card: unknown): Diagnosis {
  const errors = cardProblems(card).filter(({ level }) => level === 'error');
  const [first] = errors;
  if (first === undefined) return passed('Card', `the card at ${url} is valid`);
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return failed('Card', `${first.path} ${first.problem}${more}`, `${first.fix}; all: legate check`);
}

/** Ignores smaller clock skews, in milliseconds. */
const smallSkew = 30_000;

/**
 * Checks the clock against the times in responses of servers, and against the modification times of files,
 * which lie in the past.
 */
export function examineClock(
  directory: string,
  seen: readonly { readonly server: string; readonly skewMs: number }[],
  now: number,
): Diagnosis {
  const fix = 'set the clock, and synchronize it with NTP ("timedatectl set-ntp true")';
  for (const { server, skewMs } of seen) {
    if (Math.abs(skewMs) <= smallSkew) continue;
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    const how = skewMs > 0 ? 'ahead of' : 'behind';
    return failed(
      'Clock',
      `${seconds} s ${how} ${server}: tokens and leases expire at the wrong time`,
      fix,
    );
  }
  const late = ['config.yml', 'endpoints.yml', join('.legate', 'store.db')].find((name) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false });
    return found !== undefined && found.mtimeMs > now + smallSkew;
  });
  if (late !== undefined) {
    return warning('Clock', `${late} has a modification time in the future`, fix);
  }
  const what = seen.length === 0 ? 'nothing to compare with' : `as ${seen[0]?.server ?? ''}`;
  return passed('Clock', `${new Date(now).toISOString()} (${what})`);
}
