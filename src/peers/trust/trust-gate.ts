import {
  type Agent,
  type Caller,
  completed,
  rejected,
  textOf,
  type Turn,
  type TurnEvent,
  working,
} from '../../agents/index.ts';
import { present } from '../../config/index.ts';
import { data, LegateError, type Part, shortened, text } from '../../protocol/index.ts';
import { keySegment, sessionNamespace, type WorkingMemory } from '../memory/working-memory.ts';
import { wrapAgent } from '../wrap-agent.ts';
import type { Proposals } from './proposals.ts';
import { matchSkill, namedSkill, type SkillAliases } from './skill-match.ts';
import { isApproved, type TrustLedger } from './trust-ledger.ts';
import { isAtLeast, isProved, type TrustLevel } from './trust-subject.ts';

/**
 * A notification to the user about an inbound request.
 * @example
 * const notify = ({ kind, caller, summary }: InboundNote) => {
 *   if (kind === 'proposal') phone.ring(`${caller.displayName ?? caller.subject}: ${summary}`);
 * };
 */
export interface InboundNote {
  /** `request`: recorded, not carried out. `fact`: stored as a fact. `proposal`: needs a decision. */
  readonly kind: 'request' | 'fact' | 'proposal';
  readonly caller: Caller;
  readonly skill: string | undefined;
  readonly summary: string;
  readonly taskId: string;
  /** Its key in working memory; proposals have none. */
  readonly key?: string;
}

/**
 * The trust ledger, and where requests are stored for the user.
 * @example
 * const options: TrustGateOptions = {
 *   ledger: network.trust,
 *   memory: network.memory(user),
 *   proposals: network.proposals,
 *   approvalMs: 60 * 60_000,
 * };
 */
export interface TrustGateOptions {
  readonly ledger: TrustLedger;
  /** The user's memory: requests, facts and outcomes of callers are stored here. */
  readonly memory: WorkingMemory;
  readonly proposals: Proposals;
  /** The user's conversation, under which outcomes are kept. @default 'primary' */
  readonly session?: string;
  readonly aliases?: SkillAliases;
  /** Notifies the user. */
  readonly notify?: (note: InboundNote) => void | Promise<void>;
  /** A read-only summary of a request, by a model for instance. @default the first 1,000 characters */
  readonly summarise?: (turn: Turn) => string | Promise<string>;
  /** How long the user has to decide on a proposal, in milliseconds. @default 9 minutes */
  readonly approvalMs?: number;
}

const minute = 60_000;
const noteMs = 24 * 60 * minute;
const factMs = 30 * 24 * 60 * minute;
const outcomeMs = 8 * 60 * minute;
const excerptLength = 1_000;

/**
 * Enforces trust levels for an agent that others call: depending on the caller's level, a request is
 * carried out, proposed to the user, stored as a fact, or only recorded.
 * @example hostOnBus(trustGate(agent, { ledger, memory, proposals }), { bus })
 */
export function trustGate(agent: Agent, options: TrustGateOptions): Agent {
  return wrapAgent(agent, { take: (turn) => take(agent, turn, options) });
}

async function* take(
  agent: Agent,
  turn: Turn,
  options: TrustGateOptions,
): AsyncGenerator<TurnEvent> {
  const { ledger, aliases } = options;
  const { caller } = turn;
  const entry = await ledger.note(caller, caller.displayName);
  const level = isProved(caller) ? entry.level : 'observe';
  const wanted = await namedSkill(turn);
  const skill =
    wanted === undefined
      ? onlySkill(agent)
      : matchSkill(agent.skills, wanted, { ...(aliases !== undefined && { aliases }) })?.id;
  if (isAtLeast(level, 'act') && isApproved(entry, skill)) {
    yield* act(agent, turn, skill, options);
  } else if (isAtLeast(level, 'propose')) {
    yield* propose(agent, turn, skill ?? wanted, options);
  } else {
    yield await keep(turn, skill ?? wanted, level, options);
  }
}

async function* act(
  agent: Agent,
  turn: Turn,
  skill: string | undefined,
  options: TrustGateOptions,
): AsyncGenerator<TurnEvent> {
  const outcome = new OutcomeAccumulator();
  for await (const event of agent.take(turn)) {
    outcome.add(event);
    // Consumers stop pulling after an end, so the outcome is stored first.
    if (outcome.end !== undefined) await keepOutcome(turn, skill, outcome, options);
    yield event;
  }
  if (outcome.end === undefined) await keepOutcome(turn, skill, outcome, options);
}

/**
 * Asks the user, and continues when the user approves. An approval applies to the whole task, but not to
 * messages that name another skill.
 */
async function* propose(
  agent: Agent,
  turn: Turn,
  skill: string | undefined,
  options: TrustGateOptions,
): AsyncGenerator<TurnEvent> {
  const { proposals, approvalMs = 9 * minute } = options;
  const { method, tenant, subject, displayName } = turn.caller;
  const summary = await summaryOf(turn, options);
  const { proposal, isNew } = await proposals.open(
    {
      id: turn.taskId,
      method,
      tenant,
      subject,
      text: summary,
      ...present({ displayName, skill }),
    },
    approvalMs,
  );
  if (skill !== undefined && skill !== proposal.skill) {
    const approved = proposal.skill === undefined ? 'no skill' : `the skill '${proposal.skill}'`;
    const why = `This task was proposed to the user for ${approved}. Start a new task for '${skill}'.`;
    yield refusal({ error_type: 'not_approved' }, why);
    return;
  }
  if (isNew) await notifyUser(turn, { kind: 'proposal', skill, summary }, options);
  if (proposal.state === 'open') yield working('Waiting for the approval of the user.');
  const decision = await proposals.decision(proposal.id, turn.signal);
  if (decision === 'approved') {
    yield* act(agent, turn, skill, options);
    return;
  }
  const why =
    decision === 'refused'
      ? 'The user did not approve this request.'
      : 'The user did not decide on this request in time. It may be sent again.';
  yield refusal({ error_type: 'not_approved' }, why);
}

/**
 * Records a request that is not carried out; with level `learn`, as a fact. Facts have a namespace of
 * their own, since anonymous callers could fill the one of requests.
 */
async function keep(
  turn: Turn,
  skill: string | undefined,
  level: TrustLevel,
  options: TrustGateOptions,
): Promise<TurnEvent> {
  const isFact = isAtLeast(level, 'learn');
  const summary = await summaryOf(turn, options);
  const key = await note(turn, { skill, summary, isFact }, options);
  const kind = isFact ? 'fact' : 'request';
  await notifyUser(turn, { kind, skill, summary, ...(key !== undefined && { key }) }, options);
  if (isFact && key !== undefined) {
    return completed([
      data({ state: 'noted' }),
      text('This was noted for the user. Nothing else was done.'),
    ]);
  }
  if (isFact) {
    return refusal(
      { error_type: 'not_kept', level },
      'This could not be stored: the memory is full. Send it later.',
    );
  }
  const explanation =
    `This request was not carried out: ${nameOf(turn.caller)} has the trust level observe. ` +
    'The user was notified, and can grant more.';
  return refusal({ error_type: 'not_trusted', level }, explanation);
}

/** Stores the request and returns its key; undefined when the memory is full. */
async function note(
  turn: Turn,
  about: { readonly skill: string | undefined; readonly summary: string; readonly isFact: boolean },
  { memory }: TrustGateOptions,
): Promise<string | undefined> {
  const { skill, summary, isFact } = about;
  const callerName = nameOf(turn.caller);
  const namespace = isFact ? 'a2a-facts' : 'a2a-inbox';
  const key = `${namespace}/${keySegment(callerName)}/${keySegment(turn.taskId)}`;
  const at = new Date(turn.clock.now()).toISOString();
  const requested = skill === undefined ? '' : ` for the skill '${skill}'`;
  const value = `${at} ${callerName} (${turn.caller.method})${requested}: ${isFact ? textOf(turn.message) : summary}`;
  try {
    await memory.save(key, value, {
      category: isFact ? 'a2a-fact' : 'a2a-note',
      tags: tagsOf(callerName, skill),
      ttlMs: isFact ? factMs : noteMs,
      writer: callerName.slice(0, 200),
    });
    return key;
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== 'INVALID_PARAMS') throw error;
    turn.logger.warn({ key, error }, 'peers.request.save_failed');
    return undefined;
  }
}

function refusal(
  why: { readonly error_type: string; readonly level?: TrustLevel },
  explanation: string,
): TurnEvent {
  const metadata = { error_type: why.error_type };
  return rejected([data({ state: 'rejected', ...why }), text(explanation)], { metadata });
}

/** Cuts tags to the limit of working memory. */
function tagsOf(callerName: string, skill: string | undefined): readonly string[] {
  return [callerName, ...(skill === undefined ? [] : [skill])].map((tag) => tag.slice(0, 200));
}

/** Stores the outcome, so that the agent can report it to the user later. Skips questions. */
async function keepOutcome(
  turn: Turn,
  skill: string | undefined,
  outcome: OutcomeAccumulator,
  options: TrustGateOptions,
): Promise<void> {
  if (!outcome.isCompleted) return;
  const { memory, session = 'primary' } = options;
  const callerName = nameOf(turn.caller);
  const at = new Date(turn.clock.now()).toISOString();
  const key = `${sessionNamespace(session)}/a2a-outcomes/${keySegment(skill ?? 'general')}/${keySegment(turn.contextId)}`;
  const value = [
    `At ${at}, ${callerName} (${turn.caller.method}) asked${skill === undefined ? '' : ` for '${skill}'`}: ${shortened(textOf(turn.message), excerptLength)}`,
    `Outcome: ${outcome.text}`,
  ].join('\n');
  try {
    await memory.save(key, value, {
      category: 'a2a-outcome',
      tags: tagsOf(callerName, skill),
      ttlMs: outcomeMs,
    });
  } catch (error) {
    // Not rethrown: the caller's task has completed.
    turn.logger.warn({ key, error }, 'peers.outcome.save_failed');
  }
}

async function notifyUser(
  turn: Turn,
  note: Omit<InboundNote, 'caller' | 'taskId'>,
  { notify }: TrustGateOptions,
): Promise<void> {
  await notify?.({ ...note, caller: turn.caller, taskId: turn.taskId });
}

async function summaryOf(turn: Turn, { summarise }: TrustGateOptions): Promise<string> {
  return shortened(await (summarise?.(turn) ?? textOf(turn.message)), excerptLength);
}

function nameOf({ displayName, subject }: Caller): string {
  return displayName ?? (subject === '' ? 'anonymous' : subject);
}

function onlySkill({ skills }: Agent): string | undefined {
  return skills.length === 1 ? skills[0]?.id : undefined;
}

const maxText = 20_000;

/** Accumulates the text of a turn, within bounds. */
class OutcomeAccumulator {
  #text = '';
  #end: string | undefined;

  add(event: TurnEvent): void {
    if (!('kind' in event)) this.#take(event.parts);
    else if (event.kind === 'chunk') this.#take(event.artifact.parts);
    else if (event.kind !== 'working') {
      this.#end = event.kind;
      this.#take(event.parts ?? []);
    }
  }

  /** How the turn ended, once it has. */
  get end(): string | undefined {
    return this.#end;
  }

  /** A turn without an end is completed too. */
  get isCompleted(): boolean {
    return this.#end === undefined || this.#end === 'completed' || this.#end === 'message';
  }

  get text(): string {
    return this.#text === '' ? '(no text)' : this.#text;
  }

  #take(parts: readonly Part[]): void {
    for (const part of parts) {
      if (this.#text.length >= maxText) return;
      const added = part.text ?? (part.data === undefined ? '' : JSON.stringify(part.data));
      this.#text = (this.#text + added).slice(0, maxText);
    }
  }
}
