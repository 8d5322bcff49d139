import { Field, type Problems, type Section, type YamlFile } from '../../config/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { JudgeName, TestCase } from './checks.ts';
import { known, type NamedMetadata, readMetadataName, readSteps } from './read-steps.ts';

type Slots = Readonly<Record<string, JsonValue>>;

/**
 * Definitions that the tests of a file, a folder or a project share. The nearest definition of a name
 * wins.
 */
export interface Shared {
  readonly fixtures: ReadonlyMap<string, Slots>;
  readonly metadata: NamedMetadata;
  readonly judge: JudgeName | undefined;
}

export const nothingShared: Shared = {
  fixtures: new Map(),
  metadata: new Map(),
  judge: undefined,
};

/** Merges inherited definitions with nearer ones, which win. */
export function nearest(above: Shared, own: Shared): Shared {
  return {
    fixtures: new Map([...above.fixtures, ...own.fixtures]),
    metadata: new Map([...above.metadata, ...own.metadata]),
    judge: own.judge ?? above.judge,
  };
}

/** Reads `conftest.yml`: definitions for all tests of its folder and subfolders. */
export function readConftest(file: YamlFile, problems: Problems): Shared {
  const section = file.value === null ? undefined : Field.root(file, problems).section();
  if (section === undefined) return nothingShared;
  const shared = { ...readShared(section), judge: readJudge(section.section('llm_judge')) };
  section.finish();
  return shared;
}

/** `llm_judge: {llm: {model_group: name}}`. */
function readJudge(section: Section | undefined): JudgeName | undefined {
  const llm = section?.require('llm', 'write llm: {model_group: ...}')?.section();
  const field = llm?.require('model_group', 'name one of the model_groups of endpoints.yml');
  const modelGroup = field?.name();
  section?.get('embeddings')?.keyWarn('"embeddings" has no effect: the judge reads for itself');
  llm?.finish();
  section?.finish();
  if (field === undefined || modelGroup === undefined) return undefined;
  return { modelGroup, position: field.place.position };
}

/** Reads a test file; undefined if the file has no `test_cases`. */
export function readTestFile(
  file: YamlFile,
  inherited: Shared,
  problems: Problems,
): readonly TestCase[] | undefined {
  const root = Field.root(file, problems);
  const section = root.isMapping() ? root.section() : undefined;
  if (section === undefined || !section.has('test_cases')) return undefined;
  const shared = nearest(inherited, readShared(section));
  const stubs = readStubs(section.section('stub_custom_actions'));
  const cases = section.list('test_cases').flatMap((item) => {
    const one = readCase(item, shared, stubs);
    return one === undefined ? [] : [one];
  });
  section.finish();
  return numberDuplicates(cases, problems);
}

function readCase(
  item: Field,
  shared: Shared,
  stubs: ReadonlyMap<string, JsonObject>,
): TestCase | undefined {
  const section = item.section();
  if (section === undefined) return undefined;
  // A test without a name is an error; it fails under the path of its position.
  const name = section.require('test_case', 'name the test')?.name() ?? item.place.path;
  const ofCase = readMetadataName(section.get('metadata'), shared.metadata);
  const test: TestCase = {
    name,
    position: section.field.place.position,
    slots: readFixtureNames(section.list('fixtures'), shared.fixtures),
    steps: readSteps(section.list('steps'), {
      named: shared.metadata,
      ofCase,
      isOrdered: section.boolean('assertion_order_enabled') ?? false,
    }),
    stubs: stubsOf(name, stubs),
    judge: shared.judge,
  };
  section.finish();
  if (test.steps.length === 0) {
    item.keyError('has no message', { hint: 'add a step: - user: hello' });
  } else if (test.steps.every((step) => step.checks.length === 0)) {
    item.keyError('expects nothing, so it cannot fail', { hint: 'add assertions to a step' });
  }
  return test;
}

function readShared(section: Section): Shared {
  return {
    fixtures: named(section.get('fixtures'), readSlots),
    metadata: named(section.get('metadata'), (field) => field.object() ?? {}),
    judge: undefined,
  };
}

/** Reads a list of mappings from names, or one mapping. Names must be unique. */
function named<T>(field: Field | undefined, read: (value: Field) => T): ReadonlyMap<string, T> {
  const result = new Map<string, T>();
  if (field === undefined) return result;
  const items = field.oneOrMore();
  for (const item of items) {
    for (const [name, value] of item.section()?.entries() ?? []) {
      if (result.has(name)) value.keyError(`"${name}" is defined twice`, { hint: 'rename one' });
      else result.set(name, read(value));
    }
  }
  return result;
}

function readSlots(field: Field): Slots {
  const items = field.oneOrMore();
  const entries = items.flatMap((item) => item.section()?.entries() ?? []);
  return Object.fromEntries(entries.map(([name, value]) => [name, value.value]));
}

function readFixtureNames(list: readonly Field[], fixtures: ReadonlyMap<string, Slots>): Slots {
  const entries = list.flatMap((item) => {
    const name = item.name() ?? '';
    const slots = fixtures.get(name);
    if (slots === undefined) item.error(`there is no fixture "${name}"`, known(fixtures.keys()));
    return Object.entries(slots ?? {});
  });
  return Object.fromEntries(entries);
}

function readStubs(section: Section | undefined): ReadonlyMap<string, JsonObject> {
  const stubs = new Map<string, JsonObject>();
  for (const [name, field] of section?.entries() ?? []) {
    const answer = field.section();
    answer?.get('events');
    answer?.get('responses');
    answer?.finish();
    if (isJsonObject(field.value)) stubs.set(name, field.value);
  }
  return stubs;
}

/** `test name::action` takes precedence over `action`, for that test only. */
function stubsOf(
  test: string,
  stubs: ReadonlyMap<string, JsonObject>,
): ReadonlyMap<string, JsonObject> {
  const own = new Map<string, JsonObject>();
  for (const [name, answer] of stubs) if (!name.includes('::')) own.set(name, answer);
  for (const [name, answer] of stubs) {
    const mark = name.lastIndexOf('::');
    if (mark >= 0 && name.slice(0, mark) === test) own.set(name.slice(mark + 2), answer);
  }
  return own;
}

/** Appends a number to duplicate names of tests: `pays by card (2)`. */
function numberDuplicates(cases: readonly TestCase[], problems: Problems): readonly TestCase[] {
  const names = new Map<string, number>();
  return cases.map((test) => {
    const { name, position } = test;
    const count = (names.get(name) ?? 0) + 1;
    names.set(name, count);
    if (count === 1) return test;
    const numbered = `${name} (${count})`;
    const problem = `there are several tests "${name}": this one is called "${numbered}"`;
    problems.warn({ position, path: '' }, problem, { hint: 'rename it' });
    return { ...test, name: numbered };
  });
}
