import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Field, type Position, Problems, type Section, YamlFile } from '../../config/index.ts';
import type { ScriptedReply, ScriptedToolCall } from '../../models/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { usage } from '../usage.ts';

/** An expected tool call. */
export interface ExpectedCall {
  readonly tool: string;
  /** The expected part of the input; undefined to ignore the input. */
  readonly input: JsonObject | undefined;
}

/** One case: the messages to an agent, and the expected behaviour. */
export interface EvaluationCase {
  readonly name: string;
  readonly position: Position;
  /** The agent's module; undefined if the command names it. */
  readonly agent: string | undefined;
  /** The model that judges facts: `provider/model`, or a model group. */
  readonly judge: string | undefined;
  /** Messages of one conversation. A message answers the question before it. */
  readonly input: readonly string[];
  readonly tools: readonly ExpectedCall[] | undefined;
  readonly match: 'exact' | 'in_order' | 'any_order';
  /** Statements that the last answer must make, in any words. */
  readonly facts: readonly string[];
  readonly contains: readonly string[];
  readonly excludes: readonly string[];
  readonly state: string;
  /** Scripted replies in place of the model's. */
  readonly script: readonly ScriptedReply[] | undefined;
}

const matches = ['exact', 'in_order', 'any_order'] as const;
const states = ['completed', 'input-required', 'auth-required', 'rejected', 'failed'];

/** Reads the cases of a file, or of the YAML files of a folder; `path::name` selects one case. */
export async function readCases(
  path: string,
): Promise<{ readonly cases: readonly EvaluationCase[]; readonly problems: Problems }> {
  const [place = '', wanted] = path.split('::', 2);
  const info = await stat(place).catch(() => undefined);
  if (info === undefined) throw usage(`there are no cases at ${place}: no such file or folder`);
  const files = info.isDirectory()
    ? (await readdir(place))
        .filter((name) => /\.ya?ml$/.test(name))
        .map((name) => join(place, name))
    : [place];
  const problems = new Problems();
  const cases: EvaluationCase[] = [];
  for (const file of files.toSorted()) {
    const yaml = YamlFile.parse({ file, text: await readFile(file, 'utf8') }, problems);
    cases.push(...readFileCases(Field.document(yaml, problems), file));
  }
  const chosen = wanted === undefined ? cases : cases.filter(({ name }) => name === wanted);
  if (chosen.length > 0 || problems.errors.length > 0) return { cases: chosen, problems };
  const names = cases.map(({ name }) => name).join(', ');
  throw usage(
    wanted === undefined
      ? `there are no cases at ${place}; write some under cases:`
      : `there is no case "${wanted}" in ${place}; it has ${names}`,
  );
}

function readFileCases(document: Section, file: string): readonly EvaluationCase[] {
  const named = document.text('agent');
  const agent = named === undefined ? undefined : resolve(dirname(file), named);
  const judge = document.has('judge')
    ? (document.section('judge')?.text('model_group') ?? undefined)
    : undefined;
  const cases = document.list('cases').flatMap((field) => {
    const section = field.section();
    const read = section && readCase(section, field, { agent, judge });
    section?.finish();
    return read === undefined ? [] : [read];
  });
  document.finish();
  return cases;
}

function readCase(
  section: Section,
  field: Field,
  shared: Pick<EvaluationCase, 'agent' | 'judge'>,
): EvaluationCase | undefined {
  const name = section.require('name')?.text();
  const input = textsOf(section.require('input'));
  const match = section.get('match')?.oneOf(matches) ?? 'exact';
  const state = section.get('state')?.oneOf(states) ?? 'completed';
  const tools = section.get('tools')?.list()?.flatMap(readCall);
  const script = section.get('script')?.list()?.flatMap(readReply);
  const facts = textsOf(section.get('facts'));
  if (facts.length > 0 && shared.judge === undefined)
    section
      .get('facts')
      ?.error(
        'facts need a model as a judge',
        'write judge: {model_group: ...} at the top of the file',
      );
  if (name === undefined || input.length === 0) return undefined;
  return {
    ...shared,
    name,
    position: field.place.position,
    input,
    tools,
    match,
    facts,
    contains: textsOf(section.get('contains')),
    excludes: textsOf(section.get('excludes')),
    state,
    script,
  };
}

function textsOf(field: Field | undefined): readonly string[] {
  return field?.oneOrMore().flatMap((each) => each.text() ?? []) ?? [];
}

/** `find_order`, or `find_order: {number: 17}`. */
function readCall(field: Field): readonly ExpectedCall[] {
  if (!field.isMapping()) {
    const tool = field.text();
    return tool === undefined ? [] : [{ tool, input: undefined }];
  }
  return (field.section()?.entries() ?? []).map(([tool, input]) => ({
    tool,
    input: input.object(),
  }));
}

/** A text, or `{text, tool_calls: [{name, input}]}`. */
function readReply(field: Field): readonly ScriptedReply[] {
  if (!field.isMapping()) {
    const text = field.text();
    return text === undefined ? [] : [text];
  }
  const section = field.section();
  const text = section?.text('text');
  const toolCalls = (section?.list('tool_calls') ?? []).flatMap((each): ScriptedToolCall[] => {
    const call = each.section();
    const name = call?.require('name')?.text();
    const input = call?.object('input') ?? {};
    call?.finish();
    return name === undefined ? [] : [{ name, input }];
  });
  section?.finish();
  return [{ ...(text !== undefined && { text }), ...(toolCalls.length > 0 && { toolCalls }) }];
}
