import { agentFetch, nameAgent } from '../api/agent-fetch.ts';

const wellKnown = ['.well-known/agent-card.json', '.well-known/agent.json'] as const;
const maxCharacters = 4_000_000;

/**
 * Fetches the card at an address, valid or not, so that it can be inspected. Tries the well-known
 * paths below the address, then the address itself.
 */
export async function fetchCardJson(address: string): Promise<unknown> {
  await nameAgent(address);
  let last = 'there is no agent card';
  for (const url of candidates(new URL(address))) {
    const response = await agentFetch(url.href, {
      headers: { accept: 'application/json', 'a2a-version': '1.0' },
    });
    const text = (await response.text()).slice(0, maxCharacters);
    if (!response.ok) {
      last = `${url.pathname} answered ${response.status}`;
      continue;
    }
    try {
      return JSON.parse(text) as unknown;
    } catch {
      last = `${url.pathname} answered what is not JSON`;
    }
  }
  throw new Error(last);
}

function candidates(url: URL): readonly URL[] {
  if (url.pathname.endsWith('.json') || url.pathname.includes('/.well-known/')) return [url];
  const base = new URL(url.pathname.endsWith('/') ? url.href : `${url.href}/`);
  const places = wellKnown.map((path) => new URL(path, base));
  return url.pathname === '/' ? places : [...places, url];
}
