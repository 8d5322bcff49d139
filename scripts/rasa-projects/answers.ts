import type { GeneratorInput, Slot } from '../../src/assistant/index.ts';
import type { UserStep } from '../../src/assistant/e2e/checks.ts';
import type { JsonValue } from '../../src/protocol/index.ts';
import { guessValues } from './values.ts';

/** The largest number of model answers that are tried for one message. */
const MAX_ANSWERS = 80;
const MAX_COMBINATIONS = 12;
const MAX_FLOWS = 8;

type Values = Readonly<Record<string, JsonValue>>;

/**
 * The answers that a model could give to a message, derived only from the message, the project and the
 * expectations of the test: those of this step first, then those of the following steps.
 * @example possibleAnswers(input, test.steps.slice(2)) // ['set slot amount 50', 'start flow transfer', ...]
 */
export function possibleAnswers(
  input: GeneratorInput,
  steps: readonly UserStep[],
): readonly string[] {
  const situation = new Situation(input, steps);
  const { has } = situation;
  const flows = situation.flowAnswers();
  const cancel = ['cancel flow', ...flows.map((answer) => `cancel flow\n${answer}`)];
  const parts: readonly (readonly string[])[] = [
    has('pattern_search') ? ['provide info'] : [],
    has('pattern_chitchat') ? ['offtopic reply'] : [],
    has('pattern_clarification') ? situation.clarifications() : [],
    has('pattern_cancel_flow') || has('flow_cancelled') ? cancel : [],
    has('pattern_cannot_handle') ? ['', 'cannot handle'] : [],
    has('utter_cannot_handle') ? ['cannot handle'] : [],
    has('pattern_correction') ? situation.corrections() : [],
    situation.replies(),
    flows.slice(0, 12),
    situation.corrections(),
    ['cancel flow', 'repeat message', 'provide info', 'offtopic reply', ''],
    situation
      .replies()
      .slice(0, 3)
      .map((reply) => `${reply}\nprovide info`),
    situation.pairs(),
    cancel.slice(1, 9),
    flows.slice(12),
    ['skip question', 'hand over'],
    situation.clarifications(),
  ];
  return [...new Set(parts.flat())].slice(0, MAX_ANSWERS);
}

class Situation {
  readonly #input: GeneratorInput;
  readonly #steps: readonly UserStep[];
  readonly #expected: Values;
  readonly #words: string;

  constructor(input: GeneratorInput, steps: readonly UserStep[]) {
    this.#input = input;
    this.#steps = steps;
    this.#expected = valuesOf(steps[0]);
    this.#words = (steps[0]?.checks ?? []).map(({ title }) => title).join('\n');
  }

  /** Whether an expectation of this step contains a word. */
  readonly has = (word: string): boolean => new RegExp(`\\b${word}\\b`).test(this.#words);

  /** Answers to the open question. */
  replies(): readonly string[] {
    const { activeCollect } = this.#input;
    const others = this.#settable(Object.keys(this.#expected));
    const beside = others.filter((name) => name !== activeCollect?.slot.name);
    const fixed = beside.map((name) => setSlot(name, this.#expected[name] ?? null));
    if (activeCollect === undefined) return fixed.length === 0 ? [] : [fixed.join('\n')];
    const own = this.#valuesFor(activeCollect.slot).map((value) =>
      [setSlot(activeCollect.slot.name, value), ...fixed].join('\n'),
    );
    return fixed.length === 0 ? own : [...own, fixed.join('\n')];
  }

  /** New values for slots that were asked before, and commands that clear them. */
  corrections(): readonly string[] {
    const { slots, activeCollect, domain } = this.#input;
    const asked = this.#questions(this.#activeFlows()).map(({ slot }) => slot);
    const filled = asked.filter(
      (name) => name !== activeCollect?.slot.name && (slots[name] ?? null) !== null,
    );
    const upcoming = this.#upcoming();
    const announced = this.#settable(Object.keys(upcoming)).filter(
      (name) => filled.includes(name) && !isSame(slots[name], upcoming[name]),
    );
    const single = filled.toReversed().flatMap((name) => {
      const slot = domain.slots.get(name);
      const values = slot === undefined ? [] : this.#valuesFor(slot);
      return values
        .filter((value) => !isSame(value, slots[name]))
        .slice(0, 6)
        .map((value) => setSlot(name, value));
    });
    const cleared = filled.toReversed().map((name) => setSlot(name, null));
    const together = announced.map((name) => setSlot(name, upcoming[name] ?? null)).join('\n');
    const isMentioned = (name: string) =>
      name.split('_').some((part) => part.length > 3 && this.#input.text.includes(part));
    const named = filled.filter(isMentioned).map((name) => setSlot(name, null));
    return [...(together === '' ? [] : [together]), ...named, ...single, ...cleared];
  }

  /** Starts of each likely flow, with the slots that must be filled for the expected question. */
  flowAnswers(): readonly string[] {
    return this.#ranked().flatMap((id) => this.#starts(id));
  }

  /** Starts of two flows in one message. */
  pairs(): readonly string[] {
    const [one, two, three] = this.#ranked();
    const pair = (left?: string, right?: string) =>
      left === undefined || right === undefined
        ? []
        : [`start flow ${left}\nstart flow ${right}`, `start flow ${right}\nstart flow ${left}`];
    return [...pair(one, two), ...pair(one, three), ...pair(two, three)];
  }

  clarifications(): readonly string[] {
    const { flows } = this.#input;
    const named = flows
      .filter(({ id, name }) => this.has(id) || this.has(name))
      .map(({ id }) => id);
    const ranked = this.#ranked();
    const guessed = [0, 1, 2, 3].map((at) => ranked.slice(at, at + 2));
    return [named, ranked.slice(0, 3), ...guessed]
      .filter((ids) => ids.length > 1)
      .map((ids) => `disambiguate flows ${ids.join(' ')}`);
  }

  #starts(id: string): readonly string[] {
    const { slots } = this.#input;
    const questions = this.#questions([id]);
    const asked = questions.map(({ slot }) => slot);
    const fixed = this.#settable(Object.keys(this.#expected)).filter((name) =>
      asked.includes(name),
    );
    const stop = Math.max(
      0,
      questions.findIndex(({ utter }) => this.has(utter)),
    );
    const head = [
      `start flow ${id}`,
      ...fixed.map((name) => setSlot(name, this.#expected[name] ?? null)),
    ].join('\n');
    const isOpen = (name: string) => !fixed.includes(name) && (slots[name] ?? null) === null;
    const filled = (count: number) => this.#filled(head, asked.slice(0, count).filter(isOpen));
    // The message can also contain the answer to the expected question, which was rejected.
    return [...new Set([...filled(stop), head, ...(stop === 0 ? [] : filled(stop + 1))])];
  }

  /** A start with values for slots, in several combinations. */
  #filled(head: string, names: readonly string[]): readonly string[] {
    let combinations: readonly string[] = [head];
    for (const name of names) {
      const slot = this.#input.domain.slots.get(name);
      const values = slot === undefined ? [] : this.#valuesFor(slot).slice(0, 4);
      const longer = combinations.flatMap((before) =>
        values.map((value) => `${before}\n${setSlot(name, value)}`),
      );
      if (longer.length > 0) combinations = longer.slice(0, MAX_COMBINATIONS);
    }
    return combinations;
  }

  /** Ids of the flows that can be started, the likeliest first. */
  #ranked(): readonly string[] {
    const { flows, text } = this.#input;
    const said = wordsOf(text);
    const scored = flows.map((flow) => {
      const questions = this.#questions([flow.id]);
      const actions = this.#input.allFlows.get(flow.id)?.steps.values() ?? [];
      const isNamed = this.has(flow.id) ? 100 : 0;
      const filled = questions.filter(({ slot }) => Object.hasOwn(this.#expected, slot)).length;
      const asks = questions.some(({ utter }) => this.has(utter)) ? 30 : 0;
      const acts = [...actions].some((step) => step.kind === 'action' && this.has(step.action));
      const meant = wordsOf(`${flow.id} ${flow.name} ${flow.description}`);
      const shared = [...said].filter((word) => meant.has(word)).length;
      return { id: flow.id, score: isNamed + 50 * filled + asks + (acts ? 20 : 0) + 3 * shared };
    });
    scored.sort((left, right) => right.score - left.score);
    return scored.slice(0, MAX_FLOWS).map(({ id }) => id);
  }

  #valuesFor(slot: Slot): readonly JsonValue[] {
    const announced = this.#steps.map((step) => valuesOf(step)[slot.name]);
    const next = announced.find((value) => value !== undefined && value !== null);
    return guessValues(slot, this.#input.text, next);
  }

  /** The slot values of the next step that expects any. */
  #upcoming(): Values {
    const later = this.#steps.slice(0, 2).map(valuesOf);
    return later.find((values) => Object.keys(values).length > 0) ?? {};
  }

  #settable(names: readonly string[]): readonly string[] {
    const { domain } = this.#input;
    return names.filter((name) =>
      domain.slots.get(name)?.mappings.some(({ type }) => type === 'from_llm'),
    );
  }

  #activeFlows(): readonly string[] {
    return [...new Set(this.#input.stack.map(({ flowId }) => flowId))];
  }

  /** The questions of flows and of the flows that they call or link to, in order. */
  #questions(
    ids: readonly string[],
    seen = new Set<string>(),
  ): readonly { readonly slot: string; readonly utter: string }[] {
    return ids.flatMap((id) => {
      const flow = this.#input.allFlows.get(id);
      if (flow === undefined || seen.has(id)) return [];
      seen.add(id);
      return [...flow.steps.values()].flatMap((step) => {
        if (step.kind === 'collect') return [{ slot: step.slot, utter: step.utter }];
        if (step.kind === 'call') return this.#questions([step.target], seen);
        return step.kind === 'link' ? this.#questions([step.flow], seen) : [];
      });
    });
  }
}

/** The slot values that a step expects, without cleared ones, which no model answer sets. */
function valuesOf(step: UserStep | undefined): Values {
  const uses = (step?.checks ?? []).flatMap((check) => check.uses);
  return Object.fromEntries(
    uses.flatMap(({ kind, name, value }) =>
      kind === 'slot' && value !== undefined && value !== null ? [[name, value]] : [],
    ),
  );
}

/** Compares values as a model writes them: `50` and `"50"` are the same. */
function isSame(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  const plain = (value: JsonValue | undefined) =>
    typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return plain(left) === plain(right);
}

function setSlot(name: string, value: JsonValue): string {
  const written = typeof value === 'string' ? value : JSON.stringify(value);
  return `set slot ${name} ${value === null ? 'undefined' : written}`;
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}]{3,}/gu));
}
