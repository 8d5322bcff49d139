import { type Field, present, type Section } from '../../config/index.ts';
import { readCondition, type Use } from '../domain/index.ts';
import { END, type Flow } from '../model.ts';
import { readSteps } from './steps.ts';

/** One entry of `flows:`. */
export function readFlow(id: string, field: Field, uses: Use[]): Flow | undefined {
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
  const stepFields = section.require('steps')?.list() ?? [];
  if (section.get('steps') !== undefined && stepFields.length === 0) {
    section.get('steps')?.error('must hold at least one step');
  }
  const { steps, first } = readSteps(stepFields, { flow: id, uses });
  const flow: Flow = {
    id,
    name: section.name('name') ?? readableId(id),
    description: description ?? '',
    ...present({
      translation: readTranslation(section),
      if: readCondition(section.get('if'), uses, id),
    }),
    nluTrigger: section.list('nlu_trigger').flatMap(readTrigger),
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
  return flow;
}

export function readableId(id: string): string {
  return id.replace(/[_-]+/g, ' ').trim();
}

function readTranslation(section: Section): Flow['translation'] | undefined {
  const languages = section.section('translation')?.entries();
  if (languages === undefined) return undefined;
  return Object.fromEntries(
    languages.flatMap(([language, field]) => {
      const inner = field.section();
      if (inner === undefined) return [];
      const entry = [language, present({ name: inner.name('name') })] as const;
      inner.finish();
      return [entry];
    }),
  );
}

function readTrigger(field: Field): Flow['nluTrigger'] {
  const section = field.section();
  const intent = section?.require('intent');
  section?.finish();
  if (intent === undefined) return [];
  if (!intent.isMapping()) {
    const name = intent.name();
    return name === undefined ? [] : [{ intent: name, confidenceThreshold: 0 }];
  }
  const inner = intent.section();
  const name = inner?.require('name')?.name();
  const confidenceThreshold =
    inner?.number('confidence_threshold', { minimum: 0, maximum: 1 }) ?? 0;
  inner?.finish();
  return name === undefined ? [] : [{ intent: name, confidenceThreshold }];
}
