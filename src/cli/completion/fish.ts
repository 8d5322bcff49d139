import type { Completed } from './completion.ts';

/** One line for each command and flag, under the condition that the command before it was typed. */
export function fishScript(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ path, commands: inner, flags }) => {
    const words = inner.map(({ word }) => word);
    const when = condition(path, words);
    return [
      ...inner.map(
        ({ word, summary }) =>
          `complete -c legate -f -n '${when}' -a ${word} -d '${plain(summary)}'`,
      ),
      ...flags.map(({ word, summary, takesValue, choices }) => {
        const values = choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : ' -r';
        return `complete -c legate -n '${when}' -l ${word.slice(2)}${takesValue ? values : ''} -d '${plain(summary)}'`;
      }),
    ];
  });
  return `# Completion of legate for fish: legate completion fish | source\n${lines.join('\n')}\n`;
}

function condition(path: string, inner: readonly string[]): string {
  if (path === '') return '__fish_use_subcommand';
  const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
  const none = inner.length === 0 ? [] : [`not __fish_seen_subcommand_from ${inner.join(' ')}`];
  return [...seen, ...none].join('; and ');
}

function plain(text: string): string {
  return text.replaceAll(/[\\']/g, '');
}
