import {
  data as dataPart,
  LegateError,
  type Message,
  message,
  toParts,
} from '../../protocol/index.ts';
import type { PeerRequest } from '../../agents/index.ts';
import { suggest } from '../../config/index.ts';
import { foldName } from '../directory/fold-name.ts';
import type { Peer } from '../directory/peer.ts';
import { matchSkill } from '../trust/skill-match.ts';

/**
 * A task for a peer, as `turn.peers.call` takes it.
 * @example const request: InvokeRequest = { agent: 'bob', skill: 'book-seat', message: 'By the window' };
 */
export type InvokeRequest = PeerRequest;

const longestTimeoutMs = 7 * 24 * 60 * 60 * 1000;

/** Throws `INVALID_PARAMS`, with texts that help a model to correct the request. */
export function checkRequest(request: InvokeRequest, self: string): void {
  const { agent, skill, metadata = {}, timeoutMs } = request;
  for (const [name, value] of Object.entries({ agent_name: agent, skill: skill ?? 'default' })) {
    if (typeof value !== 'string' || value.trim() === '') {
      throw invalid(`Missing required argument: ${name}.`);
    }
  }
  if (toParts(request.message).length === 0 || request.message === '') {
    throw invalid('Missing required argument: message.');
  }
  const data: unknown = request.data ?? {};
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw invalid("Argument 'data' must be a JSON object.");
  }
  for (const [name, value] of Object.entries(metadata)) {
    if (name === 'skill' || name === 'skillId') {
      throw invalid(`Argument 'metadata.${name}' is reserved; use the argument 'skill'.`);
    }
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw invalid(
        `Argument 'metadata.${name}' must be a string, a number or a boolean; put nested values into 'data'.`,
      );
    }
  }
  if (foldName(agent.trim()) === foldName(self)) {
    throw invalid(
      `Cannot invoke yourself ('${agent}'). Use list_known_agents to find the correct external agent name.`,
    );
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= longestTimeoutMs)) {
    throw invalid('The timeout must be greater than 0 and at most seven days.');
  }
}

/**
 * The id of the skill as the peer spells it. Any id is accepted for a peer whose skills are unknown.
 * Empty where none was named and the peer has several.
 */
export function skillIdOf(peer: Peer, wanted: string | undefined): string {
  const { skills } = peer.card;
  if (wanted === undefined) return skills.length === 1 ? (skills[0]?.id ?? '') : '';
  if (skills.length === 0) return wanted;
  const found = matchSkill(skills, wanted, { searches: false });
  if (found !== undefined) return found.id;
  const ids = skills.map(({ id }) => id);
  const near = suggest(wanted, ids, '');
  throw invalid(
    `Agent '${peer.name}' has no skill '${wanted}'${near ? `; ${near}` : '.'} Its skills are: ${ids.slice(0, 30).join(', ')}. Use get_agent_details('${peer.name}') for what each one does.`,
  );
}

/** Whether the card of a peer lists the skill; also true for the empty skill of a message that names none. */
export function isListed({ card }: Peer, skill: string): boolean {
  return skill === '' || card.skills.some(({ id }) => id === skill);
}

/** The first message of an invocation: the text, then the data. */
export function firstMessage(request: InvokeRequest, skill: string, messageId: string): Message {
  const parts = [...toParts(request.message)];
  if (request.data !== undefined) {
    parts.push(dataPart(request.data, { mediaType: 'application/json' }));
  }
  return message(parts, {
    messageId,
    metadata: { ...request.metadata, ...(skill !== '' && { skill }) },
  });
}

export function invalid(text: string): LegateError {
  return new LegateError('INVALID_PARAMS', text);
}
