import { type Agent, rejected, type Turn, type TurnEvent } from '../../agents/index.ts';
import { matchSkill, namedSkill, type SkillAliases } from '../../peers/index.ts';
import {
  type AgentSkill,
  data,
  invalidConfiguration,
  type JsonObject,
  type Message,
  type Part,
  text,
  v1,
} from '../../protocol/index.ts';

/**
 * Handles a turn of a skill.
 * @example
 * const count: SkillHandler = async function* (turn, conversation) {
 *   const { length } = await conversation.history();
 *   yield artifact(`${length} messages came before "${textOf(turn.message)}".`);
 * };
 */
export type SkillHandler = (
  turn: Turn,
  conversation: SkillConversation,
) => AsyncIterable<TurnEvent>;

/**
 * A skill with a description and further properties.
 * @example
 * const latin: SkillDefinition = {
 *   description: 'English to Latin',
 *   aliases: ['translate', 'interpret'],
 *   remembers: true,
 *   take: translate,
 * };
 */
export interface SkillDefinition {
  readonly take: SkillHandler;
  readonly name?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  /** Other names of the skill in requests. */
  readonly aliases?: readonly string[];
  /**
   * Keeps the messages of a conversation, so that a message with the context id alone continues it.
   * Texts and data are kept, up to 100 messages. @default false
   */
  readonly remembers?: boolean;
}

/**
 * Further properties of the agent.
 * @example const options: SkillAgentOptions = { name: 'helper', onInterrupted: 'run-again' };
 */
export type SkillAgentOptions = Partial<Omit<Agent, 'skills' | 'take'>>;

/**
 * An agent with a handler for each skill. A message names its skill in its metadata (`skill`),
 * case-insensitively; optional for a single skill. The card lists these skills.
 * @example
 * skillAgent({
 *   echo: async function* (turn) { yield artifact(textOf(turn.message)); },
 *   search: { description: 'Finds pages', take: search },
 * }, { name: 'helper' })
 */
export function skillAgent(
  skills: Readonly<Record<string, SkillHandler | SkillDefinition>>,
  options: SkillAgentOptions = {},
): Agent {
  const { name = 'agent', description = name } = options;
  const entries = Object.entries(skills).map(([id, skill]): SkillDefinition & { id: string } => ({
    id,
    ...(typeof skill === 'function' ? { take: skill } : skill),
  }));
  if (entries.length === 0) {
    throw invalidConfiguration(`agent ${name} has no skills`);
  }
  refuseDuplicates(
    entries.flatMap(({ id, aliases = [] }) => [id, ...aliases]),
    name,
  );
  const cardSkills: AgentSkill[] = entries.map(
    ({ take: _take, aliases: _aliases, remembers: _remembers, ...skill }) => ({
      ...skill,
      name: skill.name ?? skill.id,
      description: skill.description ?? skill.name ?? skill.id,
      tags: skill.tags ?? [skill.id],
    }),
  );
  const aliases: SkillAliases = Object.fromEntries(
    entries.map(({ id, aliases: names = [] }) => [id, names]),
  );
  const handlers = new Map(entries.map((entry) => [entry.id, entry]));
  return {
    ...options,
    name,
    description,
    skills: cardSkills,
    async *take(turn) {
      const wanted = (await namedSkill(turn)) ?? (cardSkills.length === 1 ? cardSkills[0]?.id : '');
      const found = matchSkill(cardSkills, wanted ?? '', { aliases, searches: false });
      const entry = found === undefined ? undefined : handlers.get(found.id);
      if (entry === undefined) yield unsupported(wanted ?? '', cardSkills);
      else if (entry.remembers !== true) yield* entry.take(turn, turn);
      else yield* remembering(turn, (conversation) => entry.take(turn, conversation));
    },
  };
}

function refuseDuplicates(names: readonly string[], agent: string): void {
  const seen = new Set<string>();
  for (const name of names) {
    const folded = name.toLowerCase();
    if (seen.has(folded)) {
      throw invalidConfiguration(
        `agent ${agent} has two skills called "${name}"; ids and aliases are the same in any case`,
      );
    }
    seen.add(folded);
  }
}

function unsupported(wanted: string, skills: readonly AgentSkill[]): TurnEvent {
  const known = skills.map(({ id }) => id).join(', ');
  const explanation =
    wanted === ''
      ? `Name a skill in the message's metadata as "skill": ${known}.`
      : `Skill '${wanted}' is not supported by this agent. Its skills are: ${known}.`;
  return rejected(
    [data({ state: 'rejected', error_type: 'skill_not_supported' }), text(explanation)],
    {
      metadata: { error_type: 'skill_not_supported' },
    },
  );
}

/**
 * The messages that precede a turn.
 * @example
 * async function lastAnswer(conversation: SkillConversation) {
 *   const messages = await conversation.history();
 *   return messages.findLast(({ role }) => role === 'ROLE_AGENT');
 * }
 */
export interface SkillConversation {
  /**
   * Earlier messages, oldest first, without the present one: those of the task, or, if the skill
   * `remembers`, those of the whole conversation.
   */
  history(): Promise<readonly Message[]>;
}

const key = 'skill-conversation';
const MAX_MESSAGES = 100;
/** Characters of JSON. */
const MAX_LENGTH = 200_000;

/**
 * Runs a turn with the history of its whole conversation, including other tasks: callers can continue it
 * with the context id alone. The turn's messages are saved at its end, without files.
 */
export async function* remembering(
  turn: Turn,
  take: (conversation: SkillConversation) => AsyncIterable<TurnEvent>,
): AsyncGenerator<TurnEvent> {
  const { session } = turn;
  if (session === undefined) {
    yield* take(turn);
    return;
  }
  const earlier = readMessages(await session.get(key));
  const answered: Part[] = [];
  const keep = (): void => {
    const { messageId, role } = turn.message;
    const answer: Message = {
      messageId: `${messageId} answer`,
      role: 'ROLE_AGENT',
      parts: answered,
    };
    const asked: Message = { messageId, role, parts: turn.message.parts.filter(isTextOrData) };
    const added = answered.length === 0 ? [asked] : [asked, answer];
    const kept = bounded([...earlier, ...added]);
    session.set(key, kept.map(toJson));
  };
  for await (const event of take({ history: async () => earlier })) {
    // One by one: an event may have more parts than a call may have arguments.
    for (const part of partsOf(event)) if (isTextOrData(part)) answered.push(part);
    // The consumer stops after the end.
    if (isEnd(event)) keep();
    yield event;
  }
  keep();
}

function readMessages(stored: unknown): readonly Message[] {
  return Array.isArray(stored)
    ? stored.map((message) => v1.message.decode(message, { allowEmptyParts: true }))
    : [];
}

function toJson({ messageId, role, parts }: Message): JsonObject {
  return { messageId, role, parts: parts.map((part) => ({ ...part })) };
}

function isTextOrData({ raw, url }: Part): boolean {
  return raw === undefined && url === undefined;
}

function partsOf(event: TurnEvent): readonly Part[] {
  if (!('kind' in event)) return event.parts;
  if (event.kind === 'chunk') return event.artifact.parts;
  return event.kind === 'working' ? [] : (event.parts ?? []);
}

function isEnd(event: TurnEvent): boolean {
  return 'kind' in event && event.kind !== 'chunk' && event.kind !== 'working';
}

/** Drops the oldest messages. */
function bounded(messages: readonly Message[]): readonly Message[] {
  let kept = messages.slice(-MAX_MESSAGES);
  while (kept.length > 0 && JSON.stringify(kept).length > MAX_LENGTH) {
    kept = kept.slice(Math.ceil(kept.length / 4));
  }
  return kept;
}
