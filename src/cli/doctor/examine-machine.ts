import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { cardProblems } from '../../protocol/index.ts';
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

/** Whether a server could listen on the port; if one already does, whether it is an agent with a valid card. */
export async function examinePort(port: number): Promise<readonly Diagnosis[]> {
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
  const card = await cardAt(port);
  if (card === undefined) {
    const fix = `stop the process that uses it (see "lsof -i :${port}"), or choose another port with --port`;
    return [failed('Port', `${port} is used by a process that is not an A2A agent`, fix)];
  }
  return [passed('Port', `${port} is used by an agent`), card];
}

function portProblem(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(undefined)));
  });
}

async function cardAt(port: number): Promise<Diagnosis | undefined> {
  const url = `http://localhost:${port}/.well-known/agent-card.json`;
  let card: unknown;
  try {
    const signal = AbortSignal.timeout(probeTimeoutMs);
    const response = await fetch(url, { signal, headers: { 'A2A-Version': '1.0' } });
    if (response.status === 401) return skipped('Card', 'the card requires authentication');
    if (!response.ok) return undefined;
    card = await response.json();
  } catch {
    // The listener does not speak HTTP or JSON: it is not an agent.
    return undefined;
  }
  const errors = cardProblems(card).filter(({ level }) => level === 'error');
  const [first] = errors;
  if (first === undefined) return passed('Card', `the card at ${url} is valid`);
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return failed('Card', `${first.path} ${first.problem}${more}`, `${first.fix}; all: legate check`);
}

/** Ignores smaller clock skews, in milliseconds. */
const smallSkew = 30_000;

/**
 * Checks the clock against the available references: the times in answers of servers, and files that
 * were written before now.
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
