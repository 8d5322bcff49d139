import { Field, type Problems, type Source, YamlFile } from '../../config/index.ts';
import type { Use } from '../domain/index.ts';
import type { Flow } from '../model.ts';
import { readFlow } from './flow.ts';

export interface LoadFlowsOptions {
  /** Flows that exist unless the project has one of the same id: the patterns. @default [] */
  readonly defaults?: readonly Source[];
}

export interface LoadedFlows {
  /** By id; the defaults first. */
  readonly flows: ReadonlyMap<string, Flow>;
  /** What the project's own flows use, and the defaults it did not replace. */
  readonly uses: readonly Use[];
  /** Where each flow of the project stands. */
  readonly fields: ReadonlyMap<string, Field>;
  /** Ids of the default flows, replaced or not. */
  readonly defaults: ReadonlySet<string>;
  /** False when a file could not be read: then what is missing may stand there. */
  readonly isComplete: boolean;
}

/**
 * Reads flows from any number of files; whatever is wrong goes to `problems`.
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
    const file = YamlFile.parse(source, problems);
    if (file.isBroken) isComplete = false;
    if (file.value === null) continue;
    for (const [id, field] of flowEntries(Field.root(file, problems))) {
      const first = fields.get(id);
      if (first !== undefined) {
        const { file: name, line } = first.keyPlace.position;
        field.keyError(`flow "${id}" is already defined in ${name}:${line}`, {
          hint: 'rename one',
        });
        continue;
      }
      fields.set(id, field);
      const flow = readFlow(id, field, uses);
      if (flow !== undefined) flows.set(id, flow);
    }
  }
  return { flows, uses, fields, isComplete };
}

/** The flows of one file; other training data may stand beside them. */
function flowEntries(root: Field): readonly (readonly [string, Field])[] {
  const section = root.section();
  if (section === undefined) return [];
  section.get('version');
  const entries = section.section('flows')?.entries() ?? [];
  for (const key of ['nlu', 'stories', 'rules', 'responses', 'regex_features', 'lookup_tables']) {
    section
      .get(key)
      ?.keyWarn(`"${key}" is left out`, { hint: 'only flows are read from data files' });
  }
  section.finishLeniently();
  return entries;
}
