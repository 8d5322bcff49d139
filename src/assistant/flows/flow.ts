import {
  Field,
  present,
  type Problems,
  type Section,
  type Source,
  YamlFile,
} from '../../config/index.ts';
import { readCondition, type Use } from '../domain/uses.ts';
import { END, type Flow } from '../model.ts';
import { readSteps } from './steps.ts';

export interface LoadFlowsOptions {
  /** Default flows, which flows of the project with the same id replace: the patterns. @default [] */
  readonly defaults?: readonly Source[];
}

export interface LoadedFlows {
  /** By id; the defaults first. */
  readonly flows: ReadonlyMap<string, Flow>;
  /** The uses of the project's flows, and of the defaults that the project did not replace. */
  readonly uses: readonly Use[];
  /** The field of each flow of the project. */
  readonly fields: ReadonlyMap<string, Field>;
  /** Ids of the default flows, replaced or not. */
  readonly defaults: ReadonlySet<string>;
  /** False if a file could not be read: it may define missing names. */
  readonly isComplete: boolean;
}

/**
 * Reads flows from any number of files. Errors and warnings are added to `problems`.
 * @example const { flows } = loadFlows([{ file: 'data/order.yml', text }], problems)
 */
export function loadFlows(
  sources: readonly Source[],
  problems: Problems,
  { defaults = [] }: LoadFlowsOptions = {},
): LoadedFlows {
  const base = readAll(defaults, problems);
  const own = readAll(sources, problems);
  const isReplaced = ({ flow }: Use) => flow !== undefined && own.flows.has(flow);
  return {
    flows: new Map([...base.flows, ...own.flows]),
    uses: [...base.uses.filter((use) => !isReplaced(use)), ...own.uses],
    fields: own.fields,
    defaults: new Set(base.flows.keys()),
    isComplete: base.isComplete && own.isComplete,
  };
}

function readAll(sources: readonly Source[], problems: Problems): Omit<LoadedFlows, 'defaults'> {
  const flows = new Map<string, Flow>();
  const fields = new Map<string, Field>();
  const uses: Use[] = [];
  let isComplete = true;
  for (const source of sources) {
    const file = YamlFile.parse(source, problems, { areDuplicatesFatal: false });
    if (file.isBroken) isComplete = false;
    for (const [id, field] of flowEntries(Field.document(file, problems.tolerant()))) {
      const first = fields.get(id);
      if (first !== undefined) {
        const { file: name, line } = first.keyPlace.position;
        field.keyError(
          `flow "${id}" is already defined in ${name}:${line}, and this one is left out`,
          {
            hint: 'rename one',
          },
        );
        continue;
      }
      fields.set(id, field);
      const flow = readFlow(id, field, uses);
      if (flow !== undefined) flows.set(id, flow);
    }
  }
  return { flows, uses, fields, isComplete };
}

/** The flows of one file, which can contain other training data too. */
function flowEntries(section: Section): readonly (readonly [string, Field])[] {
  section.get('version');
  const entries = section.section('flows')?.entries() ?? [];
  for (const key of ['nlu', 'stories', 'rules', 'responses', 'regex_features', 'lookup_tables']) {
    section
      .get(key)
      ?.keyWarn(`"${key}" is left out`, { hint: 'only flows are read from data files' });
  }
  section.finish();
  return entries;
}

/** Reads an entry of `flows:`. Undefined if its guard or a step is invalid: it would be another flow. */
function readFlow(id: string, field: Field, uses: Use[]): Flow | undefined {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_-]*$/.test(id)) {
    field.keyError(`"${id}" cannot be the id of a flow`, { hint: 'use letters, digits, _ and -' });
  }
  const section = field.section();
  if (section === undefined) return undefined;
  const isPattern = id.startsWith('pattern_');
  const description = isPattern
    ? section.text('description')
    : section.require('description', 'say when the flow is the right one')?.name();
  const persistedSlots = section.list('persisted_slots').flatMap((item) => {
    const name = item.name();
    if (name === undefined) return [];
    uses.push({ kind: 'slot', name, as: 'persisted_slots', field: item, flow: id });
    return [name];
  });
  const before = field.problems.errors.length;
  const guard = readCondition(section.get('if'), uses, id);
  const stepFields = section.require('steps')?.list() ?? [];
  if (section.get('steps') !== undefined && stepFields.length === 0) {
    section.get('steps')?.error('must hold at least one step');
  }
  const { steps, first } = readSteps(stepFields, { flow: id, uses });
  const isReadable = field.problems.errors.length === before;
  const flow: Flow = {
    id,
    name: section.name('name') ?? readableId(id),
    description: description ?? '',
    ...present({
      translation: section.record('translation', (inner) => {
        const translated = inner.section();
        const entry = translated && present({ name: translated.name('name') });
        translated?.finish();
        return entry;
      }),
      if: guard,
    }),
    nluTrigger: section.items('nlu_trigger', readTrigger),
    alwaysIncludeInPrompt: section.boolean('always_include_in_prompt') ?? false,
    runPatternCompleted: section.boolean('run_pattern_completed') ?? true,
    persistedSlots,
    steps,
    first: steps.size === 0 ? END : first,
    examples: section.names('examples'),
    isPattern,
    position: field.keyPlace.position,
  };
  section.finish();
  if (isReadable) return flow;
  field.keyWarn(`flow "${id}" is left out`, { hint: 'fix its errors' });
  return undefined;
}

export function readableId(id: string): string {
  return id.replace(/[_-]+/g, ' ').trim();
}

/** `intent: name`, or `intent: {name, confidence_threshold}`. The threshold can also be beside `intent`. */
function readTrigger(section: Section): Flow['nluTrigger'][number] | undefined {
  const thresholdOf = (of: Section) =>
    of.number('confidence_threshold', { minimum: 0, maximum: 1 }) ?? 0;
  const field = section.require('intent');
  if (field === undefined || field.isMapping()) {
    return section.mapping('intent', (intent) => ({
      intent: intent.require('name')?.name() ?? '',
      confidenceThreshold: thresholdOf(intent),
    }));
  }
  const name = field.name();
  return name === undefined
    ? undefined
    : { intent: name, confidenceThreshold: thresholdOf(section) };
}
