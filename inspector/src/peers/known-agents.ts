import { signal } from '@preact/signals';
import { cardUrls } from '../../../src/protocol/index.ts';
import { parseJsonOr } from '../api/json.ts';
import { agentFetch, allowAgent } from '../api/agent-fetch.ts';
import { reasonOf } from '../api/api.ts';

/** An agent that the operator looked up by its address. */
export interface KnownAgent {
  readonly url: string;
  readonly json: unknown;
  readonly problem: string;
}

const key = 'legate-inspector-agents';
export const knownAgents = signal<readonly KnownAgent[]>(
  savedUrls().map((url) => ({ url, json: undefined, problem: '' })),
);

/** Fetches the card at an address and remembers the address, never the card. */
export async function lookUp(url: string): Promise<void> {
  let found: KnownAgent;
  try {
    found = { url, json: await fetchCardJson(url), problem: '' };
  } catch (error) {
    found = { url, json: undefined, problem: reasonOf(error) };
  }
  save([...knownAgents.peek().filter((agent) => agent.url !== url), found]);
}

export function forget(url: string): void {
  save(knownAgents.peek().filter((agent) => agent.url !== url));
}

function save(agents: readonly KnownAgent[]): void {
  knownAgents.value = agents;
  localStorage.setItem(key, JSON.stringify(agents.map(({ url }) => url)));
}

function savedUrls(): readonly string[] {
  const urls = parseJsonOr(localStorage.getItem(key) ?? '[]', []);
  return Array.isArray(urls) ? urls.filter((url) => typeof url === 'string') : [];
}

const maxCharacters = 4_000_000;

/**
 * Fetches the card at an address, valid or not, so that it can be inspected. Tries the well-known
 * paths below the address, then the address itself.
 */
async function fetchCardJson(address: string): Promise<unknown> {
  await allowAgent(address);
  let problem = 'there is no agent card';
  for (const url of cardUrls(new URL(address))) {
    const response = await agentFetch(url.href, {
      headers: { accept: 'application/json', 'a2a-version': '1.0' },
    });
    const json = parseJsonOr((await response.text()).slice(0, maxCharacters), undefined);
    if (response.ok && json !== undefined) return json;
    problem = `${url.pathname} answered ${response.ok ? 'invalid JSON' : response.status}`;
  }
  throw new Error(problem);
}
