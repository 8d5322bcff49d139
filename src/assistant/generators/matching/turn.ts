import type { JsonValue } from '../../../protocol/index.ts';
import type { Command } from '../../conversation.ts';
import { type GeneratorInput, presentMoment } from '../../commands/generator.ts';
import { type FlowQuestion, isFilledByUser, questionsOf } from '../../flows/flow-slots.ts';
import { oncePer } from '../../once-per.ts';
import type { Domain, Flow } from '../../model.ts';
import { type FlowIndex, flowIndexOf } from '../flow-index.ts';
import { smallTalkTopic } from '../../small-talk/small-talk.ts';
import { languageFor } from '../words/language.ts';
import { type Message, messageOf, readMessage } from '../words/words.ts';
import { withoutOpeners } from './phrases.ts';
import { type Fill, fillUnasked } from './fill.ts';
import { Reading, type UnclearNumber } from './reading.ts';
import { findRequests, type Request, type Requested } from './requests.ts';
import { profileOf, type SlotProfile } from './slot-profile.ts';
import { type Day, dayAt } from './values/dates.ts';
import { currencyIn } from './values/numbers.ts';
import { saysSlot } from './values/yes-no.ts';

/**
 * Options of the matching generator.
 * @example
 * const options: MatchingOptions = { timeZone: 'America/New_York', dateOrder: 'month-day' };
 */
export interface MatchingOptions {
  /** IANA name of the time zone that defines "today". @default 'UTC' */
  readonly timeZone?: string;
  /** How 03/04/2026 is read. @default 'day-month' */
  readonly dateOrder?: 'day-month' | 'month-day';
  /** The language of users, `en` or `de`; the slot `language` overrides it. @default 'en' */
  readonly language?: string;
}

/** One message in the context of its conversation. Getters compute their values lazily. */
export class Turn {
  readonly input: GeneratorInput;
  readonly message: Message;
  readonly #options: MatchingOptions;
  #profiles: readonly SlotProfile[] | undefined;
  #asked: SlotProfile | undefined;
  #requested: Requested | undefined;
  #today: Day | undefined;
  #corrected: Message | undefined;

  constructor(input: GeneratorInput, options: MatchingOptions) {
    this.input = input;
    this.message = readMessage(input.text, languageFor(input.language ?? options.language));
    this.#options = options;
  }

  /** The message as typed, with its line breaks and punctuation. */
  get verbatim(): string {
    return this.input.text.trim();
  }

  /** The turn with another message or another state of the same conversation. */
  with(message: Message, changes: Partial<GeneratorInput> = {}): Turn {
    return new Turn({ ...this.input, text: message.text, ...changes }, this.#options);
  }

  /** A new reading of the message or a part of it, with nothing taken. */
  read(message: Message = this.message): Reading {
    const { timeZone = 'UTC', dateOrder = 'day-month' } = this.#options;
    this.#today ??= dayAt(presentMoment(this.input), timeZone);
    const { domain } = this.input;
    const language = this.input.language ?? this.#options.language;
    return new Reading(message, {
      today: this.#today,
      dateOrder,
      language,
      currency: currencyOf(domain),
      meanings: (stem) => this.index.synonymsOf(stem),
      correct: (word) => this.index.spelling.correct(word),
    });
  }

  /** The slot that was asked for. */
  get asked(): SlotProfile | undefined {
    const { activeCollect } = this.input;
    if (activeCollect === undefined) return undefined;
    const { flow, step, slot } = activeCollect;
    const ofStep = this.#questions(flow).find((one) => one.step === step);
    // A slot that the domain asks for again has no own step: the flow's step has more information.
    const ofFlow = this.profiles.find((one) => one.slot.name === slot.name);
    this.#asked ??= ofStep === undefined ? (ofFlow ?? profileOf(activeCollect)) : profileOf(ofStep);
    return this.#asked;
  }

  /** Whether a built-in pattern asks the question, not the project. */
  get isPatternQuestion(): boolean {
    return this.input.activeCollect?.slot.builtin === true;
  }

  /**
   * The slots that the active flow, its callers and the flows they call collect, and that users can fill.
   */
  get profiles(): readonly SlotProfile[] {
    const flow = this.input.callingFlow ?? this.input.activeFlow;
    this.#profiles ??= flow === undefined ? [] : this.profilesOf(flow);
    return this.#profiles;
  }

  /** The profiles of slots that have a value. */
  get filled(): readonly SlotProfile[] {
    return this.profiles.filter((profile) => this.valueOf(profile) !== null);
  }

  profilesOf(flow: Flow): readonly SlotProfile[] {
    return this.#questions(flow)
      .filter((question) => isFilledByUser(question.slot))
      .map(profileOf);
  }

  valueOf(profile: SlotProfile): JsonValue {
    return this.input.slots[profile.slot.name] ?? null;
  }

  /** The question of the user flow below a pattern on the stack. */
  get pending(): SlotProfile | undefined {
    const frame = this.input.stack.findLast((one) => one.type === 'flow');
    const step = frame && this.input.allFlows.get(frame.flowId)?.steps.get(frame.stepId);
    if (step?.kind !== 'collect') return undefined;
    return this.profiles.find((profile) => profile.slot.name === step.slot);
  }

  /** The message with typos corrected. */
  get corrected(): Message {
    this.#corrected ??= this.#correct();
    return this.#corrected;
  }

  #correct(): Message {
    const { tokens, text, language } = this.message;
    let corrected = text;
    for (const { folded, start, end } of tokens.toReversed()) {
      const word = this.index.spelling.correct(folded);
      if (word !== undefined) corrected = corrected.slice(0, start) + word + corrected.slice(end);
    }
    return corrected === text ? this.message : messageOf(corrected, language);
  }

  /** The topic of a message that is small talk. */
  get smallTalk(): string | undefined {
    const { domain } = this.input;
    const { text } = this.message;
    // The typed text too: the topics have phrases for languages that are read through a gloss.
    for (const said of new Set([text, this.corrected.text, this.input.text])) {
      const topic = smallTalkTopic(said, domain);
      if (topic !== undefined) return topic;
    }
    return undefined;
  }

  get index(): FlowIndex {
    const { allFlows, domain } = this.input;
    return flowIndexOf(allFlows, domain, this.message.language);
  }

  get requested(): Requested {
    this.#requested ??= this.requestsIn(this.message);
    return this.#requested;
  }

  requestsIn(message: Message): Requested {
    const { flows } = this.input;
    const find = (text: Message): Requested =>
      findRequests(text, {
        index: this.index,
        isStartable: (flow) => this.isActive(flow) || flows.some((one) => one.id === flow.id),
        fillsOf: (flow, part) => this.fillsOf(flow, part).map(({ profile }) => profile),
        ignored: this.read(text).values,
      });
    // "Good morning, ...": a greeting is not part of the request. Compounds match only in correct
    // spelling, hence the attempt with the corrected message.
    const bare = withoutOpeners(message);
    const requested = find(bare);
    if (requested.kind !== 'nothing' && requested.kind !== 'question') return requested;
    if (bare !== message) return find(message);
    const corrected = message === this.message ? this.corrected : message;
    return requested.kind === 'question' || corrected === message ? requested : find(corrected);
  }

  /** The slots that a request for a flow fills. */
  fillsOf(flow: Flow, part: Message): Fill[] {
    const profiles = this.profilesOf(flow);
    const fills = fillUnasked(
      this.read(part),
      profiles.filter((profile) => profile.kind !== 'yes-no'),
      { byCapitals: true },
    );
    // "A table outside" fills a yes-no slot `outside`, unless the slot's words also name the flow.
    const own = this.ownWords(flow);
    for (const profile of profiles) {
      const isPlain = profile.kind === 'yes-no' && !profile.step.askBeforeFilling;
      if (!isPlain || profile.names.values().some((name) => own.has(name))) continue;
      const value = saysSlot(part, profile);
      if (value !== undefined) fills.push({ profile, value });
    }
    return fills;
  }

  /** Whether the project has its own knowledge base for questions. */
  get hasKnowledge(): boolean {
    if (this.input.hasKnowledge === true) return true;
    const search = this.input.allFlows.get('pattern_search');
    return search !== undefined && !search.position.file.startsWith('legate/');
  }

  /** Whether the flow is the active one or its caller. */
  isActive(flow: Flow): boolean {
    const { activeFlow, callingFlow } = this.input;
    return flow.id === activeFlow?.id || flow.id === callingFlow?.id;
  }

  /** The stems of a flow's name, id and description. */
  ownWords(flow: Flow): ReadonlySet<string> {
    const text = [flow.name, flow.id.replaceAll(/[_-]+/g, ' '), flow.description].join(' ');
    return new Set(messageOf(text, this.message.language).tokens.map((word) => word.stem));
  }

  /** The flows that the bot has just offered, in its order. */
  get offers(): readonly Flow[] {
    const frame = this.input.stack.findLast((one) => one.flowId === 'pattern_clarification');
    const names = frame?.type === 'pattern' ? frame.context['names'] : undefined;
    if (!Array.isArray(names)) return [];
    return names.flatMap((name) => {
      const flow = this.input.flows.find((one) => one.id === name || one.name === name);
      return flow ?? [];
    });
  }

  /**
   * The request for the best of some flows that the bot has just offered: a message that is ambiguous
   * among all flows can be clear among three.
   */
  offered(flows: readonly Flow[]): Request | undefined {
    const options = this.offers.filter((flow) => flows.includes(flow));
    const [best, second] = this.index
      .rank(this.message)
      .filter((candidate) => options.includes(candidate.flow));
    if (best === undefined || (second !== undefined && second.score >= best.score * 0.85))
      return undefined;
    return { flow: best.flow, part: this.message, candidate: best };
  }

  /** The rest of the message without some requests. */
  beside(requests: readonly Request[]): Message {
    const rest = requests.reduce(
      (text, { part }) => text.replace(part.text, ' '),
      this.message.text,
    );
    return messageOf(
      rest.replace(/^[\s,.;!&-]+|[\s,;&-]+$/g, '').replaceAll(/\s+/g, ' '),
      this.message.language,
    );
  }

  #questions(flow: Flow): readonly FlowQuestion[] {
    return questionsOf(flow, this.input.allFlows, this.input.domain);
  }
}

/** The currency of a project whose responses mention only one. */
const currencyOf = oncePer(({ responses }: Domain) => {
  const texts = responses
    .values()
    .flatMap((variations) => variations.map(({ text }) => text ?? ''));
  const named = texts.flatMap((text) => {
    const signs = text.match(/[€£]|\b(?:euros?|dollars?|pounds?|francs?|EUR|USD|GBP|CHF)\b/g) ?? [];
    return signs.map(currencyIn);
  });
  const currencies = new Set(named);
  return currencies.size === 1 ? [...currencies][0] : undefined;
});

export function setSlot(profile: SlotProfile, value: JsonValue): Command {
  return { command: 'set slot', name: profile.slot.name, value, by: 'matching' };
}

export function unclearValue(info: UnclearNumber): Command {
  return { command: 'cannot handle', reason: 'cannot_handle_unclear_value', info: { ...info } };
}

export function startFlow(flow: Flow): Command {
  return { command: 'start flow', flow: flow.id };
}
