import { isDeepStrictEqual } from 'node:util';
import { Field, type Problems, type Section, type Source, YamlFile } from '../../config/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { DeclaredAction, Domain, ResponseVariation, SessionConfig, Slot } from '../model.ts';
import { builtinSlots, readSlot } from './slot.ts';
import { readResponse } from './response.ts';
import type { Use } from './uses.ts';

export interface LoadDomainOptions {
  /** Read before the project's own files, which override entries of the same name. @default [] */
  readonly defaults?: readonly Source[];
}

export interface LoadedDomain {
  readonly domain: Domain;
  readonly uses: readonly Use[];
  /** False if a file could not be read: it may define missing names. */
  readonly isComplete: boolean;
  /** The field `session_config`, for rules of other modules. */
  readonly sessionField: Field | undefined;
}

/**
 * Reads and merges the files of a domain. Errors and warnings are added to `problems`.
 * @example const { domain } = loadDomain([{ file: 'domain.yml', text }], problems)
 */
export function loadDomain(
  sources: readonly Source[],
  problems: Problems,
  { defaults = [] }: LoadDomainOptions = {},
): LoadedDomain {
  const base = new DomainReader(problems);
  for (const source of defaults) base.read(source);
  const own = new DomainReader(problems);
  for (const source of sources) own.read(source);
  return own.over(base);
}

/** The slot that routes sessions to NLU-based or CALM assistants. */
const ROUTING = 'route_session_to_calm';

class DomainReader {
  readonly #problems: Problems;
  readonly #slots = new Map<string, Slot>();
  readonly #responses = new Map<string, readonly ResponseVariation[]>();
  readonly #actions = new Map<string, DeclaredAction>();
  readonly #forms = new Set<string>();
  readonly #intents = new Set<string>();
  readonly #entities = new Set<string>();
  readonly #synonyms = new Map<string, readonly string[]>();
  readonly #smallTalk = new Map<string, readonly string[]>();
  readonly #uses: Use[] = [];
  readonly #seen = new Map<string, Field>();
  readonly #raw: Record<string, JsonValue> = {};
  #session: SessionConfig | undefined;
  #isComplete = true;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  read(source: Source): void {
    // No variables here: `${price}` in a response is a dollar sign before a slot.
    const file = YamlFile.parse(source, this.#problems, { areDuplicatesFatal: false });
    if (file.isBroken) this.#isComplete = false;
    const section = Field.document(file, this.#problems.tolerant());
    section.get('version');
    this.#readSlots(section.section('slots'));
    this.#readResponses(section.section('responses'));
    for (const item of section.list('actions')) this.#readAction(item);
    for (const item of section.list('intents')) addName(item, this.#intents);
    for (const item of section.list('entities')) addName(item, this.#entities);
    readLists(section.section('synonyms'), this.#synonyms);
    readLists(section.section('small_talk'), this.#smallTalk);
    const session = section.get('session_config');
    if (session !== undefined) {
      this.#noteDefinition('session_config', session, 'keyWarn');
      this.#session = readSessionConfig(session.section());
    }
    const forms = section.get('forms');
    if (forms?.isMapping() === true)
      for (const [name] of forms.section()?.entries() ?? []) this.#forms.add(name);
    for (const key of ['forms', 'e2e_actions', 'config']) {
      section.get(key)?.keyWarn(`"${key}" is left out`, { hint: 'write a flow instead' });
    }
    section.finish();
    const { value } = section.field;
    if (isJsonObject(value)) mergeRaw(this.#raw, value);
  }

  /** Merges this domain over another one. */
  over(base: DomainReader): LoadedDomain {
    const domain: Domain = {
      slots: new Map([...builtinSlots, ...base.#slots, ...this.#slots]),
      responses: new Map([...base.#responses, ...this.#responses]),
      actions: new Map([...base.#actions, ...this.#actions]),
      forms: this.#forms,
      intents: [...new Set([...base.#intents, ...this.#intents])],
      entities: [...new Set([...base.#entities, ...this.#entities])],
      session: this.#session ?? base.#session ?? readSessionConfig(undefined),
      synonyms: [...this.#synonyms].map(([word, others]) => [word, ...others]),
      smallTalk: Object.fromEntries(this.#smallTalk),
      raw: this.#raw,
    };
    return {
      domain,
      uses: [...base.#uses, ...this.#uses],
      isComplete: this.#isComplete && base.#isComplete,
      sessionField: this.#seen.get('session_config'),
    };
  }

  #readSlots(section: Section | undefined): void {
    for (const [name, field] of section?.entries() ?? []) {
      if (builtinSlots.has(name)) {
        const why =
          name === ROUTING
            ? 'no NLU-based assistant runs beside this one'
            : 'the engine has it already';
        field.keyWarn(`slot "${name}" is left out: ${why}`);
        continue;
      }
      if (!/^[\p{L}\p{N}_-]+$/u.test(name)) {
        const hint = 'use letters, digits, _ and -';
        field.keyError(`"${name}" cannot be the name of a slot`, { hint });
      }
      const slot = readSlot(name, field, this.#uses);
      if (slot === undefined) continue;
      this.#noteDefinition(`slot ${name}`, field, 'keyError');
      this.#slots.set(name, slot);
    }
  }

  #readResponses(section: Section | undefined): void {
    for (const [name, field] of section?.entries() ?? []) {
      if (!name.startsWith('utter_')) {
        field.keyWarn('the name of a response starts with "utter_"', {
          hint: `write utter_${name}`,
        });
      }
      const variations = readResponse(field, this.#uses);
      this.#noteDefinition(`response ${name}`, field, 'keyWarn');
      this.#responses.set(name, variations);
    }
  }

  #readAction(item: Field): void {
    if (!item.isMapping()) {
      const name = item.name();
      if (name !== undefined) this.#actions.set(name, { name, sendDomain: false });
      return;
    }
    for (const [name, field] of item.section()?.entries() ?? []) {
      const section = field.section();
      const sendDomain = section?.boolean('send_domain') ?? false;
      section?.finish();
      this.#actions.set(name, { name, sendDomain });
    }
  }

  /** Reports a second, different definition in the same domain. The last one takes effect. */
  #noteDefinition(what: string, field: Field, report: 'keyError' | 'keyWarn'): void {
    const first = this.#seen.get(what);
    this.#seen.set(what, field);
    if (first === undefined || isDeepStrictEqual(first.value, field.value)) return;
    const { file, line } = first.keyPlace.position;
    field[report](`${what} is already defined in ${file}:${line}`, { hint: 'the last one counts' });
  }
}

/** Reads `name: [text, text]`. Lists of several files under one name are concatenated. */
function readLists(section: Section | undefined, into: Map<string, readonly string[]>): void {
  for (const [name, field] of section?.entries() ?? []) {
    const texts = field.oneOrMore().flatMap((one) => one.text() ?? []);
    into.set(name, [...(into.get(name) ?? []), ...texts]);
  }
}

/** Reads `- name` or `- name: {options}`. */
function addName(item: Field, names: Set<string>): void {
  if (item.isMapping()) for (const [name] of item.section()?.entries() ?? []) names.add(name);
  else {
    const name = item.name();
    if (name !== undefined) names.add(name);
  }
}

function mergeRaw(into: Record<string, JsonValue>, from: JsonObject): void {
  for (const [key, value] of Object.entries(from)) {
    const old = into[key];
    if (Array.isArray(old) && Array.isArray(value)) into[key] = [...old, ...value];
    else if (isJsonObject(old) && isJsonObject(value)) into[key] = { ...old, ...value };
    else into[key] = value;
  }
}

/** Reads `session_config:` with its defaults. */
function readSessionConfig(section: Section | undefined): SessionConfig {
  const config: SessionConfig = {
    sessionExpirationTime: section?.number('session_expiration_time', { minimum: 0 }) ?? 60,
    carryOverSlotsToNewSession: section?.boolean('carry_over_slots_to_new_session') ?? true,
    startSessionAfterExpiry: section?.boolean('start_session_after_expiry') ?? true,
  };
  section?.finish();
  if (!config.startSessionAfterExpiry && !config.carryOverSlotsToNewSession) {
    section
      ?.get('carry_over_slots_to_new_session')
      ?.warn('has no effect: no new session starts', 'set start_session_after_expiry to true');
  }
  return config;
}
