import type { Command } from 'commander';
import { command, flag, operand, type OptionsOf, value } from './declare.ts';
import { existingStore, jsonLines, port, wholeNumber } from './options.ts';

const pushListOptions = {
  store: existingStore,
  state: value<'dead' | 'pending'>('state', 'filter by state', { choices: ['pending', 'dead'] }),
  task: value('id', 'filter by task'),
  after: value('id', 'only deliveries after this id', { parse: wholeNumber }),
  limit: value('count', 'maximum number to list', { default: 100, parse: wholeNumber }),
  json: jsonLines,
};
const pushRetryOptions = { store: existingStore, all: flag('retry all dead deliveries') };
export type PushListOptions = OptionsOf<typeof pushListOptions>;
export type PushRetryOptions = OptionsOf<typeof pushRetryOptions>;

export function pushCommand(): Command {
  const load = () => import('../push.ts');
  const ids = operand('[ids...]', 'ids of dead deliveries, as printed by list').argParser(
    (text: string, before?: readonly number[]) => [...(before ?? []), wholeNumber(text)],
  );
  return command('push', {
    summary: 'list pending and dead webhook deliveries, and retry dead ones',
    commands: [
      command('list', {
        summary: 'list pending deliveries, and dead ones that ran out of attempts',
        options: pushListOptions,
        examples: ['legate push list --state dead', 'legate push list --task 01a1… --json'],
        run: async () => (await load()).listDeliveries,
      }),
      command('retry', {
        summary: 'retry dead deliveries; a running server, or the next one to start, sends them',
        operands: [ids],
        options: pushRetryOptions,
        examples: ['legate push retry 17 18', 'legate push retry --all --store my/store.db'],
        run: async () => (await load()).retryDeliveries,
      }),
    ],
  });
}

/** `legate db`: the schema of a PostgreSQL database. */
export function dbCommand(): Command {
  const load = () => import('../db.ts');
  const operands = [operand('[url]', 'PostgreSQL URL (default: DATABASE_URL)')];
  return command('db', {
    summary: 'show and migrate the schema of a PostgreSQL store',
    commands: [
      command('status', {
        summary: 'print the current and the required schema version',
        operands,
        examples: ['legate db status postgres://localhost/legate'],
        run: async () => (await load()).showStatus,
      }),
      command('migrate', {
        summary: 'migrate the schema; safe while replicas start',
        operands,
        examples: ['DATABASE_URL=postgres://localhost/legate legate db migrate'],
        run: async () => (await load()).migrateDatabase,
      }),
    ],
  });
}

const helloOptions = {
  port: port(8000),
  data: value('directory', 'folder for the task database', { default: '.legate' }),
};
export type HelloOptions = OptionsOf<typeof helloOptions>;

export function helloCommand(): Command {
  return command('hello', {
    summary: 'serve a demo agent to try out calls',
    aliases: ['demo-server'],
    isServer: true,
    options: helloOptions,
    examples: ['legate hello', 'legate hello --port 0 --data /tmp/hello'],
    run: async () => (await import('../hello.ts')).hello,
  });
}

const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export function completionCommand(): Command {
  return command('completion', {
    summary: 'print a completion script for your shell',
    operands: [operand('<shell>', 'the shell').choices(shells)],
    examples: [
      'source <(legate completion bash)     in ~/.bashrc',
      'source <(legate completion zsh)      in ~/.zshrc',
      'legate completion fish | source      in ~/.config/fish/config.fish',
    ],
    run: async () => (await import('../completion.ts')).completion,
  });
}
