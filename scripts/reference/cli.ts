import type { Argument, Command, Option } from 'commander';
import { catalogue } from '../../src/cli/commands/catalogue.ts';

/** Every command with its arguments and flags, as in its help. */
export function cliPage(): string {
  const parts: string[] = [];
  let group = '';
  for (const command of catalogue()) {
    if (command.helpGroup() !== group) {
      group = command.helpGroup();
      parts.push(`## ${group.replace(/:$/, '')}`);
    }
    parts.push(...describe(command, 'legate'));
  }
  return [
    '# Commands',
    'The output of `legate --help` and `legate COMMAND --help`. Commands print their result to standard output and everything else to standard error. Environment variables named below, such as `LOG_LEVEL`, replace their flags.',
    ...parts,
    'Exit codes: see [errors](errors.md). 0 means success.',
  ].join('\n\n');
}

function describe(command: Command, above: string): readonly string[] {
  const name = `${above} ${command.name()}`;
  const rows = [
    ...command.registeredArguments.map(argumentRow),
    ...command.options.filter(({ hidden }) => !hidden).map(optionRow),
  ];
  return [
    `### ${name}`,
    `${capital(command.description())}.`,
    ...(rows.length === 0 ? [] : [['| | | default |', '|---|---|---|', ...rows].join('\n')]),
    ...command.commands
      .filter((inner) => inner.name() !== 'help')
      .flatMap((inner) => describe(inner, name)),
  ];
}

function argumentRow(argument: Argument): string {
  const shown = `${argument.name()}${argument.variadic ? '...' : ''}`;
  const name = argument.required ? `<${shown}>` : `[${shown}]`;
  return `| \`${name}\` | ${text(argument.description)} | ${standardOf(argument)} |`;
}

function optionRow(option: Option): string {
  const notes = [
    ...(option.argChoices === undefined ? [] : [`one of ${option.argChoices.join(', ')}`]),
    ...(option.envVar === undefined ? [] : [`or \`${option.envVar}\``]),
  ];
  const meaning = [text(option.description), ...notes].filter((note) => note !== '').join('; ');
  const flags = option.flags.replaceAll('|', '\\|');
  return `| \`${flags}\` | ${meaning} | ${option.negate ? '' : standardOf(option)} |`;
}

function standardOf({ defaultValue }: { readonly defaultValue?: unknown }): string {
  if (defaultValue === undefined || defaultValue === false) return '';
  const empty = Array.isArray(defaultValue) && defaultValue.length === 0;
  return empty
    ? ''
    : `\`${typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue)}\``;
}

function text(description: string | undefined): string {
  return (description ?? '').replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
