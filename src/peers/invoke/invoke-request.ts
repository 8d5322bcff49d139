import {
  data as dataPart,
  type JsonObject,
  LegateError,
  type Message,
  message,
  type Part,
  toParts,
} from '../../protocol/index.ts';
import { suggest } from '../../config/index.ts';
import type { Peer } from '../directory/peer.ts';
import { matchSkill } from '../trust/skill-match.ts';

/**
 * A task for a peer.
 * @example
 * const request: InvokeRequest = {
 *   agent: 'bob',
 *   skill: 'book-seat',
 *   message: 'A seat by the window, please',
 *   data: { train: 'RJ 63', date: '2026-11-20' },
 * };
 */
export interface InvokeRequest {
  readonly agent: string;
  /** The id of one of its skills. */
  readonly skill: string;
  readonly message: string | readonly Part[];
  /** Fields that the skill documents, sent in addition to the text. */
  readonly data?: JsonObject;
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
  /** Milliseconds. @default the invoker's */
  readonly timeoutMs?: number;
}

const longestTimeoutMs = 7 * 24 * 60 * 60 * 1000;

/** Throws `INVALID_PARAMS`, with texts that help a model to correct the request. */
export function checkRequest(request: InvokeRequest, self: string): void {
  const { agent, skill, metadata = {}, timeoutMs } = request;
  for (const [name, value] of Object.entries({ agent_name: agent, skill })) {
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
  if (agent.trim().toLowerCase() === self.toLowerCase()) {
    throw invalid(
      `Cannot invoke yourself ('${agent}'). Use list_known_agents to find the correct external agent name.`,
    );
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= longestTimeoutMs)) {
    throw invalid('The timeout must be more than nothing and at most seven days.');
  }
}

/** The id of the skill as the peer spells it. Any id is accepted for a peer whose skills are unknown. */
export function skillIdOf(peer: Peer, wanted: string): string {
  const { skills } = peer.card;
  if (skills.length === 0) return wanted;
  const found = matchSkill(skills, wanted, { searches: false });
  if (found !== undefined) return found.id;
  const ids = skills.map(({ id }) => id);
  const near = suggest(wanted, ids, '');
  throw invalid(
    `Agent '${peer.name}' has no skill '${wanted}'${near ? `; ${near}` : '.'} Its skills are: ${ids.slice(0, 30).join(', ')}. Use get_agent_details('${peer.name}') for what each one does.`,
  );
}

/** The first message of an invocation: the text, then the data. */
export function firstMessage(request: InvokeRequest, skill: string, messageId: string): Message {
  const parts = [...toParts(request.message)];
  if (request.data !== undefined) {
    parts.push(dataPart(request.data, { mediaType: 'application/json' }));
  }
  return message(parts, { messageId, metadata: { ...request.metadata, skill } });
}

export function invalid(text: string): LegateError {
  return new LegateError('INVALID_PARAMS', text);
}
