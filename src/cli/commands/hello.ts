import { Command } from 'commander';
import { portOption } from './options.ts';

export function helloCommand(): Command {
  return new Command('hello')
    .addOption(portOption(8000))
    .option('--data <directory>', 'folder for the task database', '.legate')
    .addHelpText('after', '\nExamples:\n  legate hello\n  legate hello --port 0 --data /tmp/hello')
    .action(async (options: { readonly port: number; readonly data: string }) => {
      const { hello } = await import('../hello.ts');
      await hello(options);
    });
}
