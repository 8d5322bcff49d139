import { type Field, present, type Section, suggest } from '../../config/index.ts';
import { readCondition, type Use } from '../domain/uses.ts';
import { END, type Next, START, type Step } from '../model.ts';
import {
  nameOf,
  readStepBody,
  type StepBody,
  type StepContext,
  type StepKind,
  stepKinds,
} from './step.ts';
import { isJsonObject } from '../../protocol/index.ts';

interface FlowSteps {
  readonly steps: ReadonlyMap<string, Step>;
  readonly first: string;
}

/** Reads the steps of a flow. Nested steps become ordinary steps of the flow. */
export function readSteps(fields: readonly Field[], context: StepContext): FlowSteps {
  const reader = new StepsReader(context);
  const first = reader.sequence(fields, undefined);
  return { steps: reader.finish(), first };
}

interface Draft {
  readonly id: string;
  readonly body: StepBody;
  readonly field: Field;
  readonly metadata: Step['metadata'];
  next: Next | undefined;
}

class StepsReader {
  readonly #context: StepContext;
  readonly #drafts: Draft[] = [];
  readonly #ids = new Set<string>();
  readonly #targets: { readonly name: string; readonly field: Field }[] = [];
  readonly #nextContext: NextContext;

  constructor(context: StepContext) {
    this.#context = context;
    this.#nextContext = {
      ...context,
      nested: (steps, owner) => this.sequence(steps, owner),
      target: (name, field) => this.#targets.push({ name, field }),
    };
  }

  /** Reads consecutive steps and returns the id of the first. `owner`: the field of nested steps. */
  sequence(fields: readonly Field[], owner: Field | undefined): string {
    const drafts: Draft[] = [];
    for (const field of fields) {
      const draft = this.#step(field);
      if (draft !== undefined) drafts.push(draft);
    }
    for (const [at, draft] of drafts.entries()) {
      if (draft.next !== undefined) continue;
      const following = drafts[at + 1];
      draft.next = { branches: [{ to: following?.id ?? END }] };
      if (following === undefined && owner !== undefined && draft.body.kind !== 'link') {
        draft.field.error('the last of nested steps needs "next"', 'name a step, or END');
      }
    }
    return drafts[0]?.id ?? END;
  }

  /** All steps by id, in the order of the file. Call it after all sequences are read: it checks targets. */
  finish(): ReadonlyMap<string, Step> {
    const missing = new Set<string>();
    for (const { name, field } of this.#targets) {
      if (this.#ids.has(name)) continue;
      missing.add(name);
      field.error(
        `no step named "${name}"`,
        suggest(name, [...this.#ids, END], 'name a step, or END'),
      );
    }
    return new Map(
      this.#drafts.map(({ id, body, field, metadata, next }) => {
        const branches = (next?.branches ?? []).map((branch) =>
          missing.has(branch.to) ? { ...branch, to: END } : branch,
        );
        const { position } = field.place;
        return [id, { ...body, id, next: { branches }, position, ...present({ metadata }) }];
      }),
    );
  }

  #step(field: Field): Draft | undefined {
    const section = field.section();
    if (section === undefined) return undefined;
    const kind = this.#kind(section);
    // Always read these keys, so that they don't count as unknown in an invalid step.
    const [id, next, metadata] = [
      section.get('id'),
      section.get('next'),
      section.object('metadata'),
    ];
    section.get('description');
    if (kind === undefined) return undefined;
    const body = readStepBody(kind, section, this.#context);
    section.finish();
    if (body === undefined) return undefined;
    const draft: Draft = { id: this.#id(id, body), body, field, metadata, next: undefined };
    this.#drafts.push(draft);
    if (kind === 'link') {
      next?.keyWarn('"next" has no effect here: "link" ends the flow');
      draft.next = { branches: [{ to: END }] };
    } else if (next !== undefined) draft.next = readNext(next, this.#nextContext);
    else if (kind === 'noop') field.error('"noop" needs "next"', 'name a step, or END');
    return draft;
  }

  #kind(section: Section): StepKind | undefined {
    const kinds = stepKinds.filter((kind) => section.has(kind));
    const [kind, second] = kinds;
    if (kind === undefined) {
      const keys = section.entries().map(([key]) => key);
      const near = keys.map((key) => suggest(key, stepKinds)).find((hint) => hint !== undefined);
      section.field.error(`a step needs one of ${stepKinds.join(', ')}`, near);
    } else if (second !== undefined) {
      section
        .get(second)
        ?.keyError(`a step can only have one kind; this one already has "${kind}"`, {
          hint: 'make two steps of it',
        });
    }
    return kind;
  }

  #id(field: Field | undefined, body: StepBody): string {
    const given = field?.name();
    const derived = `${this.#drafts.length}_${nameOf(body)}`;
    if (field !== undefined && given !== undefined) {
      if (given === START || given === END) field.error(`"${given}" cannot be the id of a step`);
      else if (this.#ids.has(given)) field.error(`a step named "${given}" exists already`);
      else return this.#take(given);
    }
    return this.#take(derived);
  }

  /** Reserves an id. A derived id can collide with one from the file. */
  #take(id: string): string {
    const free = this.#ids.has(id) ? this.#take(`${id}_`) : id;
    this.#ids.add(free);
    return free;
  }
}

/** The operations of the step reader that reading `next` needs. */
interface NextContext {
  readonly flow: string;
  readonly uses: Use[];
  /** Reads nested steps and returns the id of the first. */
  nested(steps: readonly Field[], owner: Field): string;
  /** Records that a step with this name must exist. */
  target(name: string, field: Field): void;
}

/** Reads `next:` in any of its forms: a name, nested steps, or a list of if/then and else. */
function readNext(field: Field, context: NextContext): Next {
  if (!Array.isArray(field.value)) return { branches: [{ to: readTarget(field, context) }] };
  const items = field.list() ?? [];
  const isBranching = items.some(
    (item) => has(item, 'if') || has(item, 'else') || has(item, 'then'),
  );
  if (!isBranching) {
    if (items.length === 0) field.error('must not be empty', 'name a step, or END');
    return { branches: [{ to: context.nested(items, field) }] };
  }
  const branches = items.flatMap((item, at) => readBranch(item, at === items.length - 1, context));
  const last = items.at(-1);
  if (last !== undefined && !has(last, 'else')) {
    field.keyError('the last branch must be "else"', { hint: 'add - else: END' });
    return { branches: [...branches, { to: END }] };
  }
  return { branches };
}

function readBranch(item: Field, isLast: boolean, context: NextContext): Next['branches'] {
  const section = item.section();
  if (section === undefined) return [];
  const otherwise = section.get('else');
  section
    .get('next')
    ?.keyWarn('"next" has no effect here: the step that the branch leads to says what follows it');
  if (otherwise !== undefined) {
    section.finish();
    if (!isLast) item.error('"else" must be the last branch');
    return [{ to: readTarget(otherwise, context) }];
  }
  const condition = readCondition(section.require('if'), context.uses, context.flow);
  const then = section.require('then', 'name a step, or END');
  section.finish();
  const to = then === undefined ? END : readTarget(then, context);
  return condition === undefined ? [] : [{ if: condition, to }];
}

/** Reads the name of a step, END, or a list of nested steps. */
function readTarget(field: Field, context: NextContext): string {
  if (Array.isArray(field.value)) {
    const steps = field.list() ?? [];
    if (steps.length === 0) field.error('must not be empty', 'name a step, or END');
    return context.nested(steps, field);
  }
  const name = field.name();
  if (name === undefined || name === END) return END;
  context.target(name, field);
  return name;
}

function has(item: Field, key: string): boolean {
  return isJsonObject(item.value) && Object.hasOwn(item.value, key);
}
