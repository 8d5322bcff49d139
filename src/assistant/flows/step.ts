import { type Field, present, type Section } from '../../config/index.ts';
import { readCondition, readRejection, readResponseName, type Use } from '../domain/uses.ts';
import type {
  ActionStep,
  CallStep,
  CollectStep,
  LinkStep,
  NoopStep,
  SetSlotsStep,
} from '../model.ts';
import { compileExpression, compileTemplate } from '../templates/template.ts';

type Own<S> = Omit<S, 'id' | 'next' | 'metadata' | 'position'>;

/** A step without its id, transitions and position. */
export type StepBody =
  | Own<ActionStep>
  | Own<CollectStep>
  | Own<SetSlotsStep>
  | Own<NoopStep>
  | Own<LinkStep>
  | Own<CallStep>;

export const stepKinds = ['action', 'collect', 'set_slots', 'noop', 'link', 'call'] as const;
export type StepKind = (typeof stepKinds)[number];

export interface StepContext {
  readonly flow: string;
  readonly uses: Use[];
}

/** Reads the keys of a kind of step. Undefined if the step is invalid. */
export function readStepBody(
  kind: StepKind,
  section: Section,
  context: StepContext,
): StepBody | undefined {
  const field = kind === 'noop' ? section.getEvenEmpty(kind) : section.get(kind);
  if (field === undefined) {
    section.field.at(kind).keyError(`"${kind}" is empty`);
    return undefined;
  }
  switch (kind) {
    case 'action':
      return readAction(field, context);
    case 'collect':
      return readCollect(field, section, context);
    case 'set_slots':
      return readSetSlots(field, context);
    case 'noop':
      if (field.value !== true && field.value !== null) field.error('must be true');
      return { kind };
    case 'link': {
      const flow = field.name();
      if (flow === undefined) return undefined;
      context.uses.push({ kind: 'link', name: flow, field, flow: context.flow });
      return { kind, flow };
    }
    case 'call':
      return readCall(field, section, context);
  }
}

function readAction(field: Field, { flow, uses }: StepContext): StepBody | undefined {
  const action = field.name();
  if (action === undefined) return undefined;
  if (action.includes('{{')) field.attempt(() => compileTemplate(action));
  else uses.push({ kind: 'action', name: action, field, flow });
  return { kind: 'action', action };
}

function readCollect(field: Field, section: Section, context: StepContext): StepBody | undefined {
  const { flow, uses } = context;
  const slot = field.name();
  const utter = readResponseName(section.get('utter'), uses, flow);
  const rejections = section.items('rejections', (one) => readRejection(one, uses, flow));
  const descriptionField = section.get('description');
  const description = descriptionField?.text();
  if (descriptionField !== undefined && description !== undefined) {
    uses.push({ kind: 'description', text: description, field: descriptionField, flow });
  }
  for (const key of ['silence_timeout', 'dtmf']) {
    section.get(key)?.keyWarn(`"${key}" has no effect: there is no voice channel`);
  }
  if (slot === undefined) return undefined;
  uses.push({ kind: 'slot', name: slot, as: 'collect', field, flow, ...present({ utter }) });
  return {
    kind: 'collect',
    slot,
    utter: utter ?? `utter_ask_${slot}`,
    rejections,
    askBeforeFilling: section.boolean('ask_before_filling') ?? false,
    resetAfterFlowEnds: section.boolean('reset_after_flow_ends') ?? true,
    forceSlotFilling: section.boolean('force_slot_filling') ?? false,
    ...present({ description }),
  };
}

function readSetSlots(field: Field, { flow, uses }: StepContext): StepBody {
  const slots = (field.list() ?? []).flatMap((item) =>
    (item.section()?.entries() ?? []).map(([slot, value]) => {
      uses.push({ kind: 'slot', name: slot, as: 'set_slots', field: value, flow });
      return { slot, value: value.value };
    }),
  );
  return { kind: 'set_slots', slots };
}

function readCall(field: Field, section: Section, context: StepContext): StepBody | undefined {
  const { flow, uses } = context;
  const target = field.name();
  const mcpServer = section.name('mcp_server');
  const exitField = section.get('exit_if');
  const exitIf = exitField
    ?.list()
    ?.map((item) => readCondition(item, uses, flow))
    .filter((text) => text !== undefined);
  const mapping = readMapping(section, context);
  if (mcpServer !== undefined && mapping === undefined) {
    section.field.keyError('a call of a tool needs "mapping"', {
      hint: 'write mapping: {input: [...], output: [...]}',
    });
  }
  if (mcpServer === undefined && mapping !== undefined) {
    section.get('mapping')?.keyError('"mapping" belongs to the call of a tool', {
      hint: 'name its mcp_server',
    });
  }
  if (mcpServer !== undefined) {
    exitField?.keyError('"exit_if" belongs to the call of a sub agent', { hint: 'leave it out' });
  } else if (exitIf !== undefined && !exitIf.some((text) => text.includes('slots.'))) {
    exitField?.error('must hold a condition about a slot', 'the agent ends when it is filled');
  }
  if (target === undefined) return undefined;
  const hasExit = exitField !== undefined;
  uses.push({ kind: 'call', name: target, server: mcpServer, hasExit, field, flow });
  return { kind: 'call', target, ...present({ exitIf, mcpServer, mapping }) };
}

function readMapping(section: Section, { flow, uses }: StepContext): CallStep['mapping'] {
  const slotOf = (entry: Section): string | undefined => {
    const field = entry.require('slot');
    const name = field?.name();
    if (field !== undefined && name !== undefined) {
      uses.push({ kind: 'slot', name, as: 'mapping', field, flow });
    }
    return name;
  };
  return section.mapping('mapping', (mapping) => {
    mapping.require('input');
    mapping.require('output');
    return {
      input: mapping.items('input', (entry) => {
        const param = entry.require('param')?.name();
        const slot = slotOf(entry);
        return param === undefined || slot === undefined ? undefined : { param, slot };
      }),
      output: mapping.items('output', (entry) => {
        const slot = slotOf(entry);
        const field = entry.require('value', 'an expression such as result.structuredContent.id');
        const value = field?.name();
        if (field !== undefined && value !== undefined)
          field.attempt(() => compileExpression(value));
        return slot === undefined || value === undefined ? undefined : { slot, value };
      }),
    };
  });
}

/** The part of a derived id that describes the step. */
export function nameOf(body: StepBody): string {
  switch (body.kind) {
    case 'action':
      return `action_${body.action}`;
    case 'collect':
      return `collect_${body.slot}`;
    case 'link':
      return `link_${body.flow}`;
    case 'call':
      return `call_${body.target}`;
    default:
      return body.kind;
  }
}
