import { Argument, Command } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export function completionCommand(): Command {
  return new Command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  source <(legate completion bash)     in ~/.bashrc
  source <(legate completion zsh)      in ~/.zshrc
  legate completion fish | source      in ~/.config/fish/config.fish`,
    )
    .action(async (shell: Shell) => {
      const { completion } = await import('../completion/completion.ts');
      await completion(shell);
    });
}
