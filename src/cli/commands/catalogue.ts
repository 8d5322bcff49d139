import type { Command } from 'commander';

/** A command as help lists it; what it takes is loaded when it is called. */
export interface CommandEntry {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

const assistants = 'Assistants:';
const operation = 'Operation:';

/** Every command of `legate`, in the order of its help. */
export const catalogue: readonly CommandEntry[] = [
  {
    name: 'run',
    group: assistants,
    summary: 'serve an assistant: A2A, the REST channel and, on request, the HTTP API',
    load: async () => (await import('./run.ts')).runCommand(),
  },
  {
    name: 'shell',
    group: assistants,
    summary: 'talk to an assistant in the terminal',
    load: async () => (await import('./shell.ts')).shellCommand(),
  },
  {
    name: 'validate',
    group: assistants,
    summary: 'report everything that is wrong with a project',
    load: async () => (await import('./validate.ts')).validateCommand(),
  },
  {
    name: 'train',
    group: assistants,
    summary: 'check a project and pack it into one file that "legate run -m" serves',
    load: async () => (await import('./train.ts')).trainCommand(),
  },
  {
    name: 'test',
    group: assistants,
    summary: 'test an assistant',
    load: async () => (await import('./test.ts')).testCommand(),
  },
  {
    name: 'push',
    group: operation,
    summary: 'look at webhook deliveries that are due or dead, and send dead ones again',
    load: async () => (await import('./push.ts')).pushCommand(),
  },
  {
    name: 'db',
    group: operation,
    summary: 'look after the database of a PostgreSQL store',
    load: async () => (await import('./db.ts')).dbCommand(),
  },
  {
    name: 'hello',
    group: operation,
    summary: 'serve a greeting agent, to see that everything works',
    load: async () => (await import('./hello.ts')).helloCommand(),
  },
];
