import { choicesOf, type Completed } from './completion.ts';

/** The words typed so far lead to a command; it offers its commands, its flags, or files. */
export function bashScript(commands: readonly Completed[]): string {
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
