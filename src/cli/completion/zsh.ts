import { choicesOf, type Completed } from './completion.ts';

/** The words typed so far lead to a command; it offers its commands and flags with their summaries. */
export function zshScript(commands: readonly Completed[]): string {
  const cases = commands.map(({ path, commands: inner, flags }) => {
    const words = inner.map(({ word, summary }) => `'${word}:${plain(summary)}'`).join(' ');
    const marks = flags.map(({ word, summary }) => `'${word}:${plain(summary)}'`).join(' ');
    return `    '${path}') commands=(${words}); flags=(${marks}) ;;`;
  });
  const choices = choicesOf(commands).map(
    ([flag, values]) => `    ${flag}) compadd -- ${values.join(' ')}; return ;;`,
  );
  const paths = commands.map(({ path }) => `'${path}'`).join('|');
  return `#compdef legate
# Completion of legate for zsh: source <(legate completion zsh)
_legate() {
  local place='' next='' index
  local -a commands flags
  for ((index = 2; index < CURRENT; index += 1)); do
    next="\${place:+$place }\${words[index]}"
    case "$next" in
    ${paths}) place="$next" ;;
    esac
  done
  case "\${words[CURRENT-1]}" in
${choices.join('\n')}
  esac
  case "$place" in
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

function plain(text: string): string {
  return text.replaceAll(/[\\':]/g, '');
}
