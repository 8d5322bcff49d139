import type { Field } from '../../config/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { compilePattern, PatternError } from '../../regex/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import {
  buttonsOf,
  type Check,
  didNotHappen,
  happened,
  listed,
  type NameUse,
  slotCheck,
  text,
  together,
  utterOf,
} from './checks.ts';
import { readGenerative } from './judge.ts';
import { objectOf } from '../tracker/events.ts';

type Reader = (field: Field, name: string) => readonly Check[];

const readers: Readonly<Record<string, Reader>> = {
  flow_started: readFlowStarted,
  flow_completed: readFlowEnd,
  flow_cancelled: readFlowEnd,
  pattern_clarification_contains: readClarification,
  slot_was_set: readSlots,
  slot_was_not_set: readSlots,
  action_executed: readAction,
  bot_uttered: readBot,
  bot_did_not_utter: readBot,
  generative_response_is_relevant: readGenerative,
  generative_response_is_grounded: readGenerative,
};

/** `assertions:` of a user step. */
export function readAssertions(list: readonly Field[]): readonly Check[] {
  return list.flatMap((item) => {
    const section = item.section();
    if (section === undefined) return [];
    const checks = Object.entries(readers).flatMap(([name, reader]) => {
      const field = section.get(name);
      return field === undefined ? [] : reader(field, name);
    });
    section.finish();
    if (Object.keys(item.value ?? {}).length === 0) item.error('an assertion is missing');
    return checks;
  });
}

function readFlowStarted(field: Field, name: string): readonly Check[] {
  const section = field.isMapping() ? field.section() : undefined;
  const operator = section?.get('operator')?.oneOf(['all', 'any']) ?? 'all';
  const flows = section === undefined ? textsOf(field) : section.names('flow_ids');
  section?.finish();
  if (flows.length === 0) {
    field.keyError('names no flow', { hint: 'write flow_ids: [transfer_money]' });
    return [];
  }
  const { position } = field.keyPlace;
  const checks = flows.map((flow) =>
    happened({
      kind: 'flow',
      position,
      title: `${name} ${flow}`,
      uses: [{ kind: 'flow', name: flow }],
      matches: (event) => event.event === 'flow_started' && event['flow_id'] === flow,
    }),
  );
  return [together(operator, checks, { title: `${name} ${listed(flows)}`, position })];
}

function readFlowEnd(field: Field, name: string): readonly Check[] {
  const section = field.isMapping() ? field.section() : undefined;
  const flow = section === undefined ? field.name() : section.require('flow_id')?.name();
  const step = section?.name('flow_step_id');
  section?.finish();
  if (flow === undefined) return [];
  return [
    happened({
      kind: 'flow',
      position: field.keyPlace.position,
      title: `${name} ${flow}${step === undefined ? '' : ` at ${step}`}`,
      uses: [{ kind: 'flow', name: flow }],
      matches: (event) =>
        event.event === name &&
        event['flow_id'] === flow &&
        (step === undefined || event['step_id'] === step),
    }),
  ];
}

/** Options can be flow ids, or flow names as shown to users. */
function readClarification(field: Field, name: string): readonly Check[] {
  const wanted = textsOf(field);
  const { position } = field.keyPlace;
  const title = `${name} ${listed(wanted)}`;
  return [
    {
      title,
      position,
      uses: [],
      judge: ({ events, flows }) => {
        const offered = events.flatMap((event) => clarified(event));
        const names = new Set(offered.flatMap((id) => [id, flows.get(id)?.name ?? id]));
        return wanted.every((option) => names.has(option))
          ? { isTrue: true }
          : { isTrue: false, expected: title, found: offered };
      },
    },
  ];
}

function clarified(event: TrackerEvent): readonly string[] {
  const commands = objectOf(event, 'parse_data')['commands'];
  if (event.event !== 'user' || !Array.isArray(commands)) return [];
  return (commands as readonly JsonObject[]).flatMap(({ command, options }) =>
    command === 'clarify' && Array.isArray(options) ? (options as readonly string[]) : [],
  );
}

function readSlots(field: Field, name: string): readonly Check[] {
  const kind = name === 'slot_was_set' ? name : 'slot_was_not_set';
  const items = field.oneOrMore();
  return items.flatMap((item) => {
    const section = item.section();
    const slot = section?.require('name')?.name();
    const value = section?.has('value') === true ? section.getEvenEmpty('value')?.value : undefined;
    section?.finish();
    const { position } = item.place;
    return slot === undefined
      ? []
      : [slotCheck(kind, { name: slot, value, position }, { mayBeEmpty: true })];
  });
}

function readAction(field: Field, name: string): readonly Check[] {
  const action = field.name();
  if (action === undefined) return [];
  return [
    happened({
      kind: 'action',
      position: field.keyPlace.position,
      title: `${name} ${action}`,
      uses: [{ kind: 'action', name: action }],
      matches: (event) => event.event === 'action' && event['name'] === action,
    }),
  ];
}

/** A single message must meet all conditions of the assertion. */
function readBot(field: Field, name: string): readonly Check[] {
  const section = field.section();
  if (section === undefined) return [];
  const utter = section.name('utter_name');
  const pattern = readPattern(section.get('text_matches'));
  const buttons = section.list('buttons').flatMap((item) => {
    const value = item.object();
    return value === undefined ? [] : [value];
  });
  section.finish();
  const parts = [
    ...(utter === undefined ? [] : [utter]),
    ...(pattern === undefined ? [] : [`text_matches ${JSON.stringify(pattern.source)}`]),
    ...(buttons.length === 0
      ? []
      : [`buttons ${listed(buttons.map((one) => one['title'] ?? null))}`]),
  ];
  if (parts.length === 0) {
    field.keyError('says nothing about the message', {
      hint: 'write utter_name, text_matches or buttons',
    });
    return [];
  }
  const uses: readonly NameUse[] = utter === undefined ? [] : [{ kind: 'response', name: utter }];
  const make = name === 'bot_uttered' ? happened : didNotHappen;
  return [
    make({
      kind: 'bot',
      position: field.keyPlace.position,
      title: `${name} ${parts.join(' and ')}`,
      uses,
      matches: (event) =>
        event.event === 'bot' &&
        (utter === undefined || utterOf(event) === utter) &&
        (pattern === undefined || pattern.search(text(event['text']))) &&
        buttons.every((button) => buttonsOf(event).some((shown) => isButton(shown, button))),
    }),
  ];
}

function readPattern(
  field: Field | undefined,
): { readonly source: string; readonly search: (text: string) => boolean } | undefined {
  const source = field?.text();
  if (field === undefined || source === undefined) return undefined;
  try {
    const pattern = compilePattern(source);
    return { source, search: (said) => pattern.search(said) };
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    field.error(error.reason, error.hint);
    return undefined;
  }
}

function isButton(shown: JsonObject, wanted: JsonObject): boolean {
  return Object.entries(wanted).every(([key, value]) => shown[key] === value);
}

/** Reads one name, or a list of names. */
function textsOf(field: Field): readonly string[] {
  const items = field.oneOrMore();
  return items.map((item) => item.name()).filter((name) => name !== undefined);
}
