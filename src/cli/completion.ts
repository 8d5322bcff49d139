import type { Command, Option } from 'commander';
import { catalogue } from './commands/catalogue.ts';
import type { Shell } from './commands/operations.ts';

/** A command for completion. */
interface Completed {
  /** The path of the command: `task push-config list`; empty for `legate` itself. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly flags: readonly Flag[];
}

/** Texts without quotes and backslashes, which shells interpret. */
interface Word {
  readonly word: string;
  readonly summary: string;
}

interface Flag extends Word {
  /** The allowed values, if they are few. */
  readonly choices: readonly string[];
}

/** Prints the completion script of a shell. */
export async function completion(shell: Shell): Promise<void> {
  const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
  process.stdout.write(scripts[shell](completedCommands()));
}

export function completedCommands(): readonly Completed[] {
  const all = catalogue();
  const version = { word: '--version', summary: 'show the version', choices: [] };
  const found: Completed[] = [{ path: '', commands: all.map(wordOf), flags: [help, version] }];
  for (const command of all) {
    for (const name of [command.name(), ...command.aliases()]) collect(command, name, found);
  }
  return found;
}

function collect(command: Command, path: string, into: Completed[]): void {
  const flags = [...command.options.flatMap(flagsOf), help];
  into.push({ path, commands: command.commands.map(wordOf), flags });
  for (const inner of command.commands) collect(inner, `${path} ${inner.name()}`, into);
}

const help: Flag = { word: '--help', summary: 'show help', choices: [] };

function wordOf(command: Command): Word {
  return { word: command.name(), summary: plain(command.description()) };
}

function flagsOf({ long, description, argChoices }: Option): readonly Flag[] {
  if (long === undefined || long === null) return [];
  const summary = plain(description.split(/[;(]/, 1)[0]?.trim() ?? '');
  return [{ word: long, summary, choices: argChoices ?? [] }];
}

function plain(text: string): string {
  return text.replaceAll(/[\\']/g, '');
}

/** Flags with few values; flags of the same name have the same values. */
function choicesOf(
  commands: readonly Completed[],
): readonly (readonly [string, readonly string[]])[] {
  const found = new Map<string, readonly string[]>();
  for (const { flags } of commands) {
    for (const { word, choices } of flags) if (choices.length > 0) found.set(word, choices);
  }
  return [...found];
}

/** The words typed so far select a command; completes its subcommands, its flags, or files. */
function bashScript(commands: readonly Completed[]): string {
  const cases = commands.map(
    ({ path, commands: inner, flags }) =>
      `    '${path}') commands='${inner.map(({ word }) => word).join(' ')}'; flags='${flags.map(({ word }) => word).join(' ')}' ;;`,
  );
  const choices = choicesOf(commands).map(
    ([flag, values]) =>
      `    ${flag}) COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$word")); return ;;`,
  );
  const paths = commands.map(({ path }) => `'${path}'`).join('|');
  return `# Completion of legate for bash: source <(legate completion bash)
_legate() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' next='' commands='' flags='' index
  for ((index = 1; index < COMP_CWORD; index += 1)); do
    next="\${path:+$path }\${COMP_WORDS[index]}"
    case "$next" in
    ${paths}) path="$next" ;;
    esac
  done
  case "$before" in
${choices.join('\n')}
  esac
  case "$path" in
${cases.join('\n')}
  esac
  if [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [[ -n "$commands" ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _legate legate
`;
}

/** The words typed so far select a command; completes its subcommands and flags with their summaries. */
function zshScript(commands: readonly Completed[]): string {
  const cases = commands.map(({ path, commands: inner, flags }) => {
    const described = (words: readonly Word[]): string =>
      words.map(({ word, summary }) => `'${word}:${summary.replaceAll(':', '')}'`).join(' ');
    return `    '${path}') commands=(${described(inner)}); flags=(${described(flags)}) ;;`;
  });
  const choices = choicesOf(commands).map(
    ([flag, values]) => `    ${flag}) compadd -- ${values.join(' ')}; return ;;`,
  );
  const paths = commands.map(({ path }) => `'${path}'`).join('|');
  return `#compdef legate
# Completion of legate for zsh: source <(legate completion zsh)
_legate() {
  local chosen='' next='' index
  local -a commands flags
  for ((index = 2; index < CURRENT; index += 1)); do
    next="\${chosen:+$chosen }\${words[index]}"
    case "$next" in
    ${paths}) chosen="$next" ;;
    esac
  done
  case "\${words[CURRENT-1]}" in
${choices.join('\n')}
  esac
  case "$chosen" in
${cases.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe 'flag' flags
  elif (( \${#commands} > 0 )); then
    _describe 'command' commands
  else
    _files
  fi
}
compdef _legate legate
`;
}

/** The words typed so far select a command; completes its subcommands, its flags, or files. */
function fishScript(commands: readonly Completed[]): string {
  const described = ({ word, summary }: Word): string => `'${word}'\\t'${summary}'`;
  const cases = commands.flatMap(({ path, commands: inner, flags }) => [
    `        case '${path}'`,
    ...(inner.length === 0 ? [] : [`            set commands ${inner.map(described).join(' ')}`]),
    `            set flags ${flags.map(described).join(' ')}`,
  ]);
  const choices = choicesOf(commands).flatMap(([flag, values]) => [
    `        case ${flag}`,
    `            printf '%s\\n' ${values.join(' ')}`,
    '            return',
  ]);
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  return `# Completion of legate for fish: legate completion fish | source
function __legate_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l chosen ''
    set -l commands
    set -l flags
    for one in $typed[2..-1]
        set -l next (string trim -- "$chosen $one")
        if contains -- $next ${paths.join(' ')}
            set chosen $next
        end
    end
    switch "$typed[-1]"
${choices.join('\n')}
    end
    switch $chosen
${cases.join('\n')}
    end
    if string match -q -- '-*' $word
        printf '%s\\n' $flags
    else if test (count $commands) -gt 0
        printf '%s\\n' $commands
    else
        __fish_complete_path $word
    end
end
complete -c legate -e
complete -c legate -f -a '(__legate_complete)'
`;
}
