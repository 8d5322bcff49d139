import type { Field, Section } from '../../config/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import {
  type Check,
  happened,
  type NamedSlot,
  slotCheck,
  type UserStep,
  utterOf,
} from './checks.ts';
import { readAssertions } from './read-assertions.ts';

/** Metadata of messages, keyed by the name that steps use. */
export type NamedMetadata = ReadonlyMap<string, JsonObject>;

/** Settings that the steps of a test share. */
interface StepContext {
  readonly named: NamedMetadata;
  /** Metadata of the test case. */
  readonly ofCase: JsonObject;
  /** `assertion_order_enabled` of the test case; a step can override it. */
  readonly isOrdered: boolean;
}

interface OpenStep {
  readonly step: Omit<UserStep, 'checks'>;
  readonly hasAssertions: boolean;
  readonly checks: Check[];
}

/** Reads `steps:` of a test case: each message with the expectations after it. */
export function readSteps(list: readonly Field[], context: StepContext): readonly UserStep[] {
  const steps: OpenStep[] = [];
  for (const item of list) {
    const section = item.section();
    if (section === undefined) continue;
    if (section.has('user')) {
      const step = readUser(section, context);
      if (step !== undefined) steps.push(step);
      continue;
    }
    const checks = readExpectations(section, item);
    const step = steps.at(-1);
    if (step === undefined)
      item.keyError('is before the first message', { hint: 'write "user" first' });
    else if (step.hasAssertions) {
      item.keyWarn('is ignored: the message before it has assertions', {
        hint: 'make an assertion of it',
      });
    } else step.checks.push(...checks);
  }
  return steps.map(({ step, checks }) => ({ ...step, checks }));
}

function readUser(section: Section, context: StepContext): OpenStep | undefined {
  const user = section.getEvenEmpty('user');
  const text = user?.value === null ? '' : user?.text();
  const assertions = section.get('assertions');
  const checks = assertions === undefined ? [] : readAssertions(assertions.list() ?? []);
  const own = readMetadataName(section.get('metadata'), context.named);
  const isOrdered = section.boolean('assertion_order_enabled') ?? context.isOrdered;
  section.finish();
  if (user === undefined || text === undefined) return undefined;
  return {
    step: {
      text,
      position: user.keyPlace.position,
      metadata: { ...context.ofCase, ...own },
      isOrdered,
    },
    hasAssertions: assertions !== undefined,
    checks: [...checks],
  };
}

/** Reads the metadata of a test case or a step, by name or inline. */
export function readMetadataName(field: Field | undefined, named: NamedMetadata): JsonObject {
  if (field === undefined) return {};
  if (field.isMapping()) return field.object() ?? {};
  const name = field.name() ?? '';
  const found = named.get(name);
  if (found === undefined) field.error(`there is no metadata "${name}"`, known(named.keys()));
  return found ?? {};
}

export function known(names: Iterable<string>): string {
  const all = [...names];
  return all.length === 0 ? 'define it' : `there are: ${all.join(', ')}`;
}

function readExpectations(section: Section, item: Field): readonly Check[] {
  const { position } = item.place;
  const bot = section.get('bot')?.text();
  const utter = section.name('utter');
  const checks = [
    ...(bot === undefined ? [] : [botSaid(bot, position)]),
    ...(utter === undefined ? [] : [responseSaid(utter, position)]),
    ...slotsOf(section.get('slot_was_set')).map((slot) => slotCheck('slot_was_set', slot)),
    ...slotsOf(section.get('slot_was_not_set')).map((slot) => slotCheck('slot_was_not_set', slot)),
  ];
  section.finish();
  if (Object.keys(item.value ?? {}).length === 0) {
    item.error('an empty step', 'write user, bot, utter, slot_was_set or slot_was_not_set');
  }
  return checks;
}

function botSaid(text: string, position: Check['position']): Check {
  const wanted = text.trim();
  return happened({
    kind: 'bot',
    position,
    title: `bot ${JSON.stringify(wanted)}`,
    matches: (event) =>
      event.event === 'bot' && typeof event['text'] === 'string' && event['text'].trim() === wanted,
  });
}

function responseSaid(name: string, position: Check['position']): Check {
  return happened({
    kind: 'bot',
    position,
    title: `utter ${name}`,
    uses: [{ kind: 'response', name }],
    matches: (event) => event.event === 'bot' && utterOf(event) === name,
  });
}

/** `- amount: 50` expects a value, `- amount` any value. */
function slotsOf(field: Field | undefined): readonly NamedSlot[] {
  return (field?.oneOrMore() ?? []).flatMap((item): readonly NamedSlot[] => {
    if (!item.isMapping()) {
      const name = item.name();
      return name === undefined ? [] : [{ name, value: undefined, position: item.place.position }];
    }
    const entries = item.section()?.entries() ?? [];
    return entries.map(([name, { value, keyPlace }]) => ({
      name,
      value,
      position: keyPlace.position,
    }));
  });
}
