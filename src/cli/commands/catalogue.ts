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
const bus = 'Agents on the bus:';
const agents = 'Agents, yours and others:';
const operation = 'Operation:';

/** Every command of `legate`, in the order of its help. */
export const catalogue: readonly CommandEntry[] = [
  {
    name: 'init',
    group: assistants,
    summary: 'make an assistant, an agent in code, or a worker that runs',
    load: async () => (await import('./init.ts')).initCommand(),
  },
  {
    name: 'run',
    group: assistants,
    summary: 'serve an assistant, or an agent in code',
    serves: true,
    load: async () => (await import('./run.ts')).runCommand(),
  },
  {
    name: 'shell',
    aliases: ['chat'],
    group: assistants,
    summary: 'talk to an assistant, or to any agent, in the terminal',
    load: async () => (await import('./shell.ts')).shellCommand(),
  },
  {
    name: 'inspect',
    group: assistants,
    summary: 'see what goes on in an agent as a page in the browser, and talk to it',
    serves: true,
    load: async () => (await import('./inspect.ts')).inspectCommand(),
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
    name: 'work',
    group: bus,
    summary: 'host an agent on the bus: it takes its tasks from RabbitMQ',
    serves: true,
    load: async () => (await import('./work.ts')).workCommand(),
  },
  {
    name: 'gateway',
    group: bus,
    summary: 'serve agents of the bus over HTTP: every binding, streams, webhooks, lists',
    serves: true,
    load: async () => (await import('./gateway.ts')).gatewayCommand(),
  },
  {
    name: 'call',
    group: bus,
    summary: 'give an agent a task, over the bus or HTTP, and wait for what comes of it',
    load: async () => (await import('./call.ts')).callCommand(),
  },
  {
    name: 'trust',
    group: bus,
    summary: 'say what those who call an agent may do, and whom it may answer by itself',
    load: async () => (await import('./trust.ts')).trustCommand(),
  },
  {
    name: 'bus',
    group: bus,
    summary: 'look after queues, dead letters and keys of the bus',
    load: async () => (await import('./bus.ts')).busCommand(),
  },
  {
    name: 'send',
    group: agents,
    summary: 'send a message to an agent, and show what comes of it',
    callsAgents: true,
    load: async () => (await import('./send.ts')).sendCommand(),
  },
  {
    name: 'card',
    group: agents,
    summary: 'show what an agent says of itself',
    callsAgents: true,
    load: async () => (await import('./card.ts')).cardCommand(),
  },
  {
    name: 'get',
    group: agents,
    summary: 'show a task',
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
    summary: 'follow a task',
    callsAgents: true,
    load: async () => (await import('./subscribe.ts')).subscribeCommand(),
  },
  {
    name: 'task',
    group: agents,
    summary: 'all about tasks: also download and webhooks',
    callsAgents: true,
    load: async () => (await import('./task.ts')).taskCommand(),
  },
  {
    name: 'check',
    aliases: ['conformance'],
    group: agents,
    summary: 'try an agent, and report what it gets right and wrong',
    callsAgents: true,
    load: async () => (await import('./check.ts')).checkCommand(),
  },
  {
    name: 'auth',
    group: agents,
    summary: 'get a token for an agent that asks for OAuth or OpenID Connect, and keep it',
    callsAgents: true,
    load: async () => (await import('./auth.ts')).authCommand(),
  },
  {
    name: 'config',
    group: agents,
    summary: 'show what the environment and files set for calls',
    load: async () => (await import('./config.ts')).configCommand(),
  },
  {
    name: 'doctor',
    group: operation,
    summary: 'look at everything that a server needs, and say how to mend it',
    load: async () => (await import('./doctor.ts')).doctorCommand(),
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
    aliases: ['demo-server'],
    group: operation,
    summary: 'serve a greeting agent, to see that everything works',
    serves: true,
    load: async () => (await import('./hello.ts')).helloCommand(),
  },
  {
    name: 'completion',
    group: operation,
    summary: 'print what makes a shell complete these commands',
    load: async () => (await import('./completion.ts')).completionCommand(),
  },
];
