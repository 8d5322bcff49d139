import { signal } from '@preact/signals';
import { reasonOf } from '../api/api.ts';
import { fetchCardJson } from './card-fetch.ts';

/** An agent that the operator looked up by its address. */
export interface KnownAgent {
  readonly url: string;
  readonly json: unknown;
  readonly problem: string;
}

const key = 'legate-inspector-agents';
export const knownAgents = signal<readonly KnownAgent[]>(
  saved().map((url) => ({ url, json: undefined, problem: '' })),
);

/** Fetches the card at an address and remembers the address, never the card. */
export async function lookUp(url: string): Promise<void> {
  let found: KnownAgent;
  try {
    found = { url, json: await fetchCardJson(url), problem: '' };
  } catch (error) {
    found = { url, json: undefined, problem: reasonOf(error, 'it does not answer') };
  }
  const others = knownAgents.peek().filter((agent) => agent.url !== url);
  knownAgents.value = [...others, found];
  save();
}

export function forget(url: string): void {
  knownAgents.value = knownAgents.peek().filter((agent) => agent.url !== url);
  save();
}

function save(): void {
  localStorage.setItem(key, JSON.stringify(knownAgents.peek().map(({ url }) => url)));
}

function saved(): readonly string[] {
  try {
    const urls: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(urls) ? urls.filter((url) => typeof url === 'string') : [];
  } catch {
    return [];
  }
}
