import type { Command } from 'commander';

/** A command as help lists it; what it takes is loaded when it is called. */
export interface CommandEntry {
  readonly name: string;
  /** Other names, for instance of the A2A CLI specification. */
  readonly aliases?: readonly string[];
  readonly group: string;
  readonly summary: string;
  /** Whether its failures are told as the A2A CLI specification wants them. */
  readonly callsAgents?: boolean;
  /** Whether it runs until it is stopped. */
  readonly serves?: boolean;
  readonly load: () => Promise<Command>;
}

const assistants = 'Assistants:';
const bus = 'Agents on RabbitMQ:';
const agents = 'Any A2A agent:';
const operation = 'Operations:';

/** Every command of `legate`, in the order of its help. */
export const catalogue: readonly CommandEntry[] = [
  {
    name: 'init',
    group: assistants,
    summary: 'create a project: an assistant, an agent in code, or a RabbitMQ worker',
    load: async () => (await import('./init.ts')).initCommand(),
  },
  {
    name: 'run',
    group: assistants,
    summary: 'serve an assistant or an agent in code',
    serves: true,
    load: async () => (await import('./run.ts')).runCommand(),
  },
  {
    name: 'shell',
    aliases: ['chat'],
    group: assistants,
    summary: 'chat with an assistant or any agent in the terminal',
    load: async () => (await import('./shell.ts')).shellCommand(),
  },
  {
    name: 'inspect',
    group: assistants,
    summary: 'open the inspector UI for an assistant or any agent in the browser',
    serves: true,
    load: async () => (await import('./inspect.ts')).inspectCommand(),
  },
  {
    name: 'validate',
    group: assistants,
    summary: 'report all errors and warnings in a project',
    load: async () => (await import('./validate.ts')).validateCommand(),
  },
  {
    name: 'train',
    group: assistants,
    summary: 'validate a project and pack it into one file for "legate run -m"',
    load: async () => (await import('./train.ts')).trainCommand(),
  },
  {
    name: 'test',
    group: assistants,
    summary: 'run the tests of an assistant',
    load: async () => (await import('./test.ts')).testCommand(),
  },
  {
    name: 'work',
    group: bus,
    summary: 'run a worker: an agent that takes its tasks from RabbitMQ',
    serves: true,
    load: async () => (await import('./work.ts')).workCommand(),
  },
  {
    name: 'gateway',
    group: bus,
    summary: 'serve agents on RabbitMQ over HTTP, with streams, webhooks and task lists',
    serves: true,
    load: async () => (await import('./gateway.ts')).gatewayCommand(),
  },
  {
    name: 'call',
    group: bus,
    summary: 'call a skill of an agent over RabbitMQ or HTTP, and wait for the result',
    load: async () => (await import('./call.ts')).callCommand(),
  },
  {
    name: 'trust',
    group: bus,
    summary: 'manage what callers of an agent may do, and which peers it may answer',
    load: async () => (await import('./trust.ts')).trustCommand(),
  },
  {
    name: 'bus',
    group: bus,
    summary: 'manage RabbitMQ queues, dead letters and signing keys',
    load: async () => (await import('./bus.ts')).busCommand(),
  },
  {
    name: 'send',
    group: agents,
    summary: 'send a message to an agent and print the result',
    callsAgents: true,
    load: async () => (await import('./send.ts')).sendCommand(),
  },
  {
    name: 'card',
    group: agents,
    summary: 'print the agent card of an agent',
    callsAgents: true,
    load: async () => (await import('./card.ts')).cardCommand(),
  },
  {
    name: 'get',
    group: agents,
    summary: 'print a task',
    callsAgents: true,
    load: async () => (await import('./get.ts')).getCommand(),
  },
  {
    name: 'list',
    group: agents,
    summary: 'list your tasks at an agent',
    callsAgents: true,
    load: async () => (await import('./list.ts')).listCommand(),
  },
  {
    name: 'cancel',
    group: agents,
    summary: 'cancel a task',
    callsAgents: true,
    load: async () => (await import('./cancel.ts')).cancelCommand(),
  },
  {
    name: 'subscribe',
    group: agents,
    summary: 'follow the events of a task',
    callsAgents: true,
    load: async () => (await import('./subscribe.ts')).subscribeCommand(),
  },
  {
    name: 'task',
    group: agents,
    summary: 'manage tasks: get, list, cancel, subscribe, download, webhooks',
    callsAgents: true,
    load: async () => (await import('./task.ts')).taskCommand(),
  },
  {
    name: 'check',
    aliases: ['conformance'],
    group: agents,
    summary: 'check how well an agent conforms to A2A',
    callsAgents: true,
    load: async () => (await import('./check.ts')).checkCommand(),
  },
  {
    name: 'auth',
    group: agents,
    summary: 'log in to an agent that requires OAuth or OpenID Connect',
    callsAgents: true,
    load: async () => (await import('./auth.ts')).authCommand(),
  },
  {
    name: 'config',
    group: agents,
    summary: 'print the settings for calls, and where each comes from',
    load: async () => (await import('./config.ts')).configCommand(),
  },
  {
    name: 'doctor',
    group: operation,
    summary: 'check the environment of a server and say how to fix problems',
    load: async () => (await import('./doctor.ts')).doctorCommand(),
  },
  {
    name: 'push',
    group: operation,
    summary: 'list pending and dead webhook deliveries, and retry dead ones',
    load: async () => (await import('./push.ts')).pushCommand(),
  },
  {
    name: 'db',
    group: operation,
    summary: 'show and migrate the schema of a PostgreSQL store',
    load: async () => (await import('./db.ts')).dbCommand(),
  },
  {
    name: 'hello',
    aliases: ['demo-server'],
    group: operation,
    summary: 'serve a demo agent to try out calls',
    serves: true,
    load: async () => (await import('./hello.ts')).helloCommand(),
  },
  {
    name: 'completion',
    group: operation,
    summary: 'print a completion script for your shell',
    load: async () => (await import('./completion.ts')).completionCommand(),
  },
];
