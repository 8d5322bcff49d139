import { choicesOf, type Completed, type Word } from './completion.ts';

/** The words typed so far lead to a command; it offers its commands, its flags, or files. */
export function fishScript(commands: readonly Completed[]): string {
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
    set -l place ''
    set -l commands
    set -l flags
    for one in $typed[2..-1]
        set -l next (string trim -- "$place $one")
        if contains -- $next ${paths.join(' ')}
            set place $next
        end
    end
    switch "$typed[-1]"
${choices.join('\n')}
    end
    switch $place
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

/** With its summary, as fish shows it beside. */
function described({ word, summary }: Word): string {
  return `'${word}'\\t'${plain(summary)}'`;
}

function plain(text: string): string {
  return text.replaceAll(/[\\']/g, '');
}
