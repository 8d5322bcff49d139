import type { Command } from 'commander';
import { command, flag, operand, type OptionsOf, value } from './declare.ts';
import { existingStore, json, jsonLines, port, wholeNumber } from './options.ts';

const pushListOptions = {
  store: existingStore,
  state: value<'dead' | 'pending'>('state', 'filter by state', { choices: ['pending', 'dead'] }),
  task: value('id', 'filter by task'),
  after: value('id', 'only deliveries after this id', { parse: wholeNumber }),
  limit: value('count', 'maximum number to list', { default: 100, parse: wholeNumber }),
  json: jsonLines,
};
const pushRetryOptions = {
  store: existingStore,
  all: flag('retry all dead deliveries'),
  json: jsonLines,
};
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

const storeOptions = { store: existingStore, json };
const storeRestoreOptions = { ...storeOptions, replace: flag('replace the present store') };
const storeMigrateOptions = {
  ...storeOptions,
  dryRun: flag('print what would be done and an estimate of the time, and change nothing'),
};
export type StoreOptions = OptionsOf<typeof storeOptions>;
export type StoreRestoreOptions = OptionsOf<typeof storeRestoreOptions>;
export type StoreMigrateOptions = OptionsOf<typeof storeMigrateOptions>;

/** `legate store`: the file of a SQLite store. */
export function storeCommand(): Command {
  const load = () => import('../store.ts');
  return command('store', {
    summary: 'back up, restore, check and migrate a SQLite store',
    commands: [
      command('backup', {
        summary: 'copy the store to a new file, also while a server runs, and check the copy',
        operands: [operand('<file>', 'file of the copy')],
        options: storeOptions,
        examples: ['legate store backup backups/monday.db'],
        run: async () => (await load()).backupStore,
      }),
      command('restore', {
        summary: 'put a backup in the place of the store, while no server runs',
        operands: [operand('<file>', 'a backup')],
        options: storeRestoreOptions,
        examples: ['legate store restore backups/monday.db --replace'],
        run: async () => (await load()).restoreStore,
      }),
      command('check', {
        summary: 'read the store through, also while a server runs; exits with 1 if it is damaged',
        options: storeOptions,
        examples: ['legate store check', 'legate store check --store backups/monday.db'],
        run: async () => (await load()).checkStore,
      }),
      command('migrate', {
        summary: 'bring the schema up to date, while no server runs',
        options: storeMigrateOptions,
        examples: ['legate store migrate --dry-run'],
        run: async () => (await load()).migrateStoreFile,
      }),
    ],
  });
}

const dbOptions = { json };
export type DbOptions = OptionsOf<typeof dbOptions>;

/** `legate db`: the schema of a PostgreSQL database. */
export function dbCommand(): Command {
  const load = () => import('../db.ts');
  const operands = [
    operand('[url]', 'PostgreSQL URL (default: DATABASE_URL, else store: of endpoints.yml)'),
  ];
  return command('db', {
    summary: 'show and migrate the schema of a PostgreSQL store',
    commands: [
      command('status', {
        summary: 'print the current and the required schema version',
        operands,
        options: dbOptions,
        examples: ['legate db status postgres://localhost/legate'],
        run: async () => (await load()).showStatus,
      }),
      command('migrate', {
        summary: 'migrate the schema; safe while replicas start',
        operands,
        options: dbOptions,
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
