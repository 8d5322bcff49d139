import { readFileSync } from 'node:fs';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { verifyCard } from '../../auth/index.ts';
import {
  type AgentCard,
  cardProblems,
  isJsonObject,
  LegateError,
  parseJson,
} from '../../protocol/index.ts';
import type { CardCommandOptions } from '../commands/agents.ts';
import { usage } from '../usage.ts';
import { calling } from './calling.ts';
import { CommandFailure } from './failure.ts';
import { Output } from './output.ts';
import type { Session } from './session.ts';
import type { TextWriter } from './text.ts';

/** Shows the card of an agent. */
export async function showCard(
  agent: string | undefined,
  options: CardCommandOptions,
): Promise<void> {
  await calling(options, agent, async (session) => {
    const trusted = options.trustedKeys === undefined ? undefined : keysOf(options.trustedKeys);
    const fetched = await session.fetchCard();
    const { card } = options.extended === true ? await extended(session, fetched.card) : fetched;
    const signature = await signatureOf(fetched.json, trusted);
    const output = new Output(session, { isStream: options.stream === true });
    output.document(options.extended === true ? card : fetched.json, (text) => {
      render(text, card);
      text.field('Signature', signature);
    });
    if (output.isJson) session.warn(`signature: ${signature}`);
    if (options.validate === true) validate(session, fetched.json);
  });
}

async function extended(session: Session, card: AgentCard): Promise<{ readonly card: AgentCard }> {
  if (card.capabilities.extendedAgentCard !== true) {
    throw new LegateError(
      'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
      `the card of ${JSON.stringify(card.name)} declares no extended card`,
    );
  }
  if (session.hasCredentials && session.schemes.length === 0) {
    throw new CommandFailure(
      'A2ACLI_ERR_AUTH_FAILED',
      'the card declares no security scheme, so the credentials were not sent',
    );
  }
  const client = await session.clientOf(card);
  const { signal } = session;
  return { card: await session.answered(client.getExtendedAgentCard({ signal })) };
}

/** Problems go to standard error: the card itself is the payload. */
function validate(session: Session, json: unknown): void {
  const problems = cardProblems(json);
  for (const { level, path, problem, fix } of problems) {
    session.warn(`${level}: ${path || 'the card'} ${problem}; ${fix}`);
  }
  if (problems.some(({ level }) => level === 'error')) process.exitCode = 1;
  else session.warn('the card is valid');
}

async function signatureOf(json: unknown, keys: JSONWebKeySet | undefined): Promise<string> {
  const signed = isJsonObject(json) ? json['signatures'] : undefined;
  if (!Array.isArray(signed) || signed.length === 0) return 'absent';
  if (keys === undefined) return 'unverifiable: give the keys with --trusted-keys';
  try {
    const { kid } = await verifyCard(json, { trusted: [{ keys }] });
    return `verified with the key ${kid}`;
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    return `unverifiable: ${error.message}`;
  }
}

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

function keysOf(path: string): JSONWebKeySet {
  try {
    return keySet.parse(parseJson(readFileSync(path, 'utf8')));
  } catch (error) {
    throw usage(`${path} contains no JSON web keys: it must be {"keys": […]}`, error);
  }
}

function render(text: TextWriter, card: AgentCard): void {
  text.field('Name', card.name);
  text.field('Description', card.description);
  text.field('Version', card.version);
  text.field('Provider', card.provider?.organization);
  text.field('Documentation', card.documentationUrl);
  for (const { protocolBinding, protocolVersion, url, tenant } of card.supportedInterfaces) {
    const routed = tenant === undefined || tenant === '' ? '' : ` for ${tenant}`;
    text.field('Interface', `${protocolBinding} ${protocolVersion} at ${url}${routed}`);
  }
  const { streaming, pushNotifications, extendedAgentCard, extensions = [] } = card.capabilities;
  text.field('Streaming', streaming === true ? 'yes' : 'no');
  text.field('Push notifications', pushNotifications === true ? 'yes' : 'no');
  text.field('Extended card', extendedAgentCard === true ? 'yes' : 'no');
  for (const { uri, required } of extensions) {
    text.field('Extension', `${uri}${required === true ? ' (required)' : ''}`);
  }
  text.field('Input', card.defaultInputModes.join(', '));
  text.field('Output', card.defaultOutputModes.join(', '));
  for (const [name, scheme] of Object.entries(card.securitySchemes ?? {})) {
    text.field('Security scheme', `${name} (${Object.keys(scheme)[0] ?? 'unknown'})`);
  }
  for (const { schemes } of card.securityRequirements ?? []) {
    text.field('Requires', Object.keys(schemes).join(' and ') || 'nothing');
  }
  for (const skill of card.skills) {
    text.field('Skill', `${skill.name} (${skill.id}): ${skill.description}`);
  }
}
