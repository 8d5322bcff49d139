import { Argument, Command, Option } from 'commander';
import type { Present } from '../../config/index.ts';

declare const given: unique symbol;

/**
 * An option of a command; `Value` is its type in code. Its name in code gives its flag:
 * `lastEventId` is `--last-event-id`.
 */
export interface OptionSpec<Value> extends Extras<Value> {
  /** Never set: carries the type of the value. */
  readonly [given]?: Value;
  readonly description: string;
  /** The placeholder of the value in help, `count` or `path...`; absent for a boolean flag. */
  readonly placeholder?: string;
  readonly isNegated?: boolean;
}

interface Extras<Value> {
  readonly short?: string;
  readonly default?: Value;
  readonly choices?: readonly Value[];
  readonly env?: string;
  parse?(text: string, before?: Value): Value;
  readonly isRequired?: boolean;
  readonly implies?: Readonly<Record<string, true>>;
  readonly conflicts?: string;
  /** The heading in help. @default 'Options:' */
  readonly group?: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>;

/** The type of the parsed options. */
export type OptionsOf<Specs> = Present<{
  readonly [Name in keyof Specs]: Specs[Name] extends { readonly [given]?: infer Value }
    ? Value
    : never;
}>;

export function flag(
  description: string,
  extras: Extras<boolean> = {},
): OptionSpec<boolean | undefined> {
  return { description, ...extras };
}

/** `open` is true unless `--no-open` is given. */
export function negated(description: string): OptionSpec<boolean> {
  return { description, isNegated: true };
}

export function value<Value = string>(
  placeholder: string,
  description: string,
  extras: Extras<Value> & { readonly default: Value },
): OptionSpec<Value>;
export function value<Value = string>(
  placeholder: string,
  description: string,
  extras?: Extras<Value>,
): OptionSpec<Value | undefined>;
export function value<Value>(
  placeholder: string,
  description: string,
  extras: Extras<Value> = {},
): OptionSpec<Value | undefined> {
  return { placeholder, description, ...extras };
}

/** A required option. */
export function required(placeholder: string, description: string): OptionSpec<string> {
  return { placeholder, description, isRequired: true };
}

/** Several values after one flag. */
export function values(
  placeholder: string,
  description: string,
): OptionSpec<readonly string[] | undefined> {
  return { placeholder: `${placeholder}...`, description };
}

/** A repeatable flag with one value each. */
export function repeated(
  placeholder: string,
  description: string,
  extras: Extras<readonly string[]> = {},
): OptionSpec<readonly string[] | undefined> {
  return { placeholder, description, parse: (text, before = []) => [...before, text], ...extras };
}

/** Lists these options below another heading in help. */
export function grouped<Specs extends object>(group: string, specs: Specs): Specs {
  const entries = Object.entries(specs).map(([name, spec]: [string, object]) => [
    name,
    { ...spec, group },
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys and values of `specs`, with a group
  return Object.fromEntries(entries) as Specs;
}

export function operand(syntax: string, description: string, standard?: string): Argument {
  return new Argument(syntax, description).default(standard);
}

/** `Args` are the parameters of the handler: its operands, then its options. */
export interface CommandSpec<Args extends readonly unknown[]> {
  readonly summary?: string;
  /** Aliases, for instance those of the A2A CLI specification. */
  readonly aliases?: readonly string[];
  readonly operands?: readonly Argument[];
  readonly options?: OptionSpecs;
  readonly commands?: readonly Command[];
  /** Text below the options in help. */
  readonly notes?: string;
  /** @default the first example of each subcommand */
  readonly examples?: readonly string[];
  /** Loaded when the command runs, so that help is fast. */
  readonly run?: () => Promise<(...args: Args) => Promise<void> | void>;
  /** Whether the command runs until it is stopped. @default false */
  readonly isServer?: boolean;
}

interface Details {
  readonly isServer: boolean;
  readonly examples: readonly string[];
}
const details = new WeakMap<Command, Details>();

/** Whether a command runs until it is stopped. */
export function isServer(command: Command): boolean {
  return details.get(command)?.isServer === true;
}

export function command<Args extends readonly unknown[]>(
  name: string,
  spec: CommandSpec<Args>,
): Command {
  const { summary = '', aliases = [], operands = [], options = {}, commands = [], run } = spec;
  const made = new Command(name).description(summary).aliases(aliases);
  for (const one of operands) made.addArgument(one);
  for (const [key, option] of Object.entries(options)) made.addOption(optionOf(key, option));
  for (const one of commands) made.addCommand(one);
  if (run !== undefined) made.action(async (...args: Args) => (await run())(...args));
  const examples = spec.examples ?? commands.map((one) => details.get(one)?.examples[0] ?? '');
  details.set(made, { isServer: spec.isServer === true, examples });
  const title = examples.length === 1 ? 'Example:' : 'Examples:';
  const lines = [title, ...examples.map((example) => `  ${example}`)];
  const notes = spec.notes === undefined ? '' : `\n${spec.notes}\n`;
  return made.addHelpText('after', `${notes}\n${lines.join('\n')}`);
}

function optionOf(key: string, spec: OptionSpec<unknown>): Option {
  const name = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const long = `--${spec.isNegated === true ? 'no-' : ''}${name}`;
  const flags = spec.short === undefined ? long : `-${spec.short}, ${long}`;
  const { placeholder, choices, conflicts } = spec;
  const option = new Option(
    placeholder === undefined ? flags : `${flags} <${placeholder}>`,
    spec.description,
  );
  if (spec.default !== undefined) option.default(spec.default);
  if (spec.parse !== undefined)
    option.argParser<unknown>((text, before) => spec.parse?.(text, before));
  if (choices !== undefined) option.choices(choices.map(String));
  if (spec.env !== undefined) option.env(spec.env);
  if (spec.implies !== undefined) option.implies(spec.implies);
  if (conflicts !== undefined) option.conflicts(conflicts);
  if (spec.group !== undefined) option.helpGroup(spec.group);
  return option.makeOptionMandatory(spec.isRequired === true);
}
