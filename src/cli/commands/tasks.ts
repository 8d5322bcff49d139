import type { Command } from 'commander';
import { command, type CommandSpec, flag, type OptionsOf, required, value } from './declare.ts';
import {
  agentOperand,
  client,
  clientNotes,
  eventStream,
  history,
  oneLine,
  port,
  requestMetadata,
  taskOperand,
  waiting,
  wholeNumber,
} from './options.ts';

/** A command that calls an agent: adds the common client options to its own. */
export function agentCommand<Args extends readonly unknown[]>(
  name: string,
  { options, notes, ...spec }: CommandSpec<Args>,
): Command {
  return command(name, {
    ...spec,
    options: { ...options, ...client },
    notes: notes === undefined ? clientNotes : `${clientNotes}\n${notes}`,
  });
}

const getOptions = {
  wait: flag('wait until the task ends or needs input'),
  watch: flag('alias of --wait', { implies: { wait: true } }),
  stream: oneLine,
  ...waiting,
  history,
};
export type GetCommandOptions = OptionsOf<typeof getOptions & typeof client>;

export function getCommand(): Command {
  return agentCommand('get', {
    summary: 'print a task',
    operands: [taskOperand],
    options: getOptions,
    examples: [
      'legate get http://localhost:8000 01a1…',
      'legate task get -a agent.example --wait --timeout 5m 01a1…',
      'legate get -a agent.example --json --history 0 01a1… | jq .status.state',
    ],
    run: async () => (await import('../client/tasks.ts')).getTask,
  });
}

const listOptions = {
  status: value('state', 'filter by state: completed, input-required, …'),
  contextId: value('id', 'filter by context'),
  after: value('time', 'only tasks updated after this time, e.g. 2026-11-15T08:00:00Z'),
  pageSize: value('count', 'tasks per page, 1 to 100', { parse: wholeNumber }),
  pageToken: value('token', 'token of the page to fetch'),
  all: flag('fetch all pages'),
  artifacts: flag('include artifacts'),
  history,
  stream: flag('with --json: print one task per line'),
};
export type ListCommandOptions = OptionsOf<typeof listOptions & typeof client>;

export function listCommand(): Command {
  return agentCommand('list', {
    summary: 'list your tasks at an agent',
    operands: [agentOperand],
    options: listOptions,
    examples: [
      'legate list http://localhost:8000',
      'legate task list -a agent.example --status input-required',
      'legate list -a agent.example --all --json --stream | jq -r .id',
    ],
    run: async () => (await import('../client/tasks.ts')).listTasks,
  });
}

const cancelOptions = { metadata: requestMetadata, stream: oneLine };
export type CancelCommandOptions = OptionsOf<typeof cancelOptions & typeof client>;

export function cancelCommand(): Command {
  return agentCommand('cancel', {
    summary: 'cancel a task',
    operands: [taskOperand],
    options: cancelOptions,
    notes: 'Canceling a task that is already canceled is not an error.',
    examples: [
      'legate cancel http://localhost:8000 01a1…',
      'legate task cancel -a agent.example --json 01a1…',
    ],
    run: async () => (await import('../client/tasks.ts')).cancelTask,
  });
}

const subscribeOptions = {
  stream: eventStream,
  lastEventId: value('id', 'resume after this event, if the agent numbers its events'),
  ...waiting,
};
export type SubscribeCommandOptions = OptionsOf<typeof subscribeOptions & typeof client>;

export function subscribeCommand(): Command {
  return agentCommand('subscribe', {
    summary: 'follow the events of a task',
    operands: [taskOperand],
    options: subscribeOptions,
    notes: 'Without --stream, prints the task when it has ended. Broken connections are resumed.',
    examples: [
      'legate subscribe http://localhost:8000 --stream 01a1…',
      'legate task subscribe -a agent.example --stream --json 01a1…',
    ],
    run: async () => (await import('../client/tasks.ts')).subscribe,
  });
}

const downloadOptions = {
  directory: value('folder', 'target folder', { short: 'd', default: '.' }),
  force: flag('overwrite existing files'),
};
export type DownloadCommandOptions = OptionsOf<typeof downloadOptions & typeof client>;

function downloadCommand(): Command {
  return agentCommand('download', {
    summary: 'save the artifacts of a task',
    operands: [taskOperand],
    options: downloadOptions,
    notes:
      'Prints the paths of the saved files. Files that an agent refers to by URL are not downloaded.',
    examples: [
      'legate task download http://localhost:8000 01a1…',
      'legate task download -a agent.example --directory results --force 01a1…',
    ],
    run: async () => (await import('../client/download.ts')).download,
  });
}

const createOptions = {
  url: required('url', 'webhook URL'),
  id: value('id', 'id of the webhook'),
  token: value('token', 'token to send with each call, for the receiver to verify'),
  scheme: value('scheme', 'authentication scheme for A2ACLI_PUSH_CREDENTIALS, e.g. Bearer'),
};
export type CreateWebhookOptions = OptionsOf<typeof createOptions & typeof client>;

const oneWebhook = { id: value('id', 'id of the webhook; optional if there is only one') };
export type GetWebhookOptions = OptionsOf<typeof oneWebhook & typeof client>;

const namedWebhook = { id: required('id', 'id of the webhook') };
export type DeleteWebhookOptions = OptionsOf<typeof namedWebhook & typeof client>;

const listenOptions = {
  port: port(0),
  host: value('host', 'address to listen on', { default: '127.0.0.1' }),
  url: value('url', 'public URL of this receiver, for instance behind a proxy'),
  count: value('count', 'exit after this many calls', { parse: wholeNumber }),
};
export type ListenCommandOptions = OptionsOf<typeof listenOptions & typeof client>;

function pushConfigCommand(): Command {
  const load = () => import('../client/push-config.ts');
  const legate = 'legate task push-config';
  const operands = [taskOperand];
  return command('push-config', {
    summary: 'manage the webhooks of a task',
    commands: [
      agentCommand('create', {
        summary: 'register a webhook for a task',
        operands,
        options: createOptions,
        examples: [`${legate} create -a agent.example 01a1… --url https://me.example/hook`],
        run: async () => (await load()).createWebhook,
      }),
      agentCommand('get', {
        summary: 'print a webhook',
        operands,
        options: oneWebhook,
        examples: [`${legate} get -a agent.example 01a1…`],
        run: async () => (await load()).getWebhook,
      }),
      agentCommand('list', {
        summary: 'list the webhooks of a task',
        operands,
        examples: [`${legate} list -a agent.example 01a1…`],
        run: async () => (await load()).listWebhooks,
      }),
      agentCommand('delete', {
        summary: 'delete a webhook',
        operands,
        options: namedWebhook,
        examples: [`${legate} delete -a agent.example 01a1… --id hook`],
        run: async () => (await load()).deleteWebhook,
      }),
      agentCommand('listen', {
        summary: 'receive the webhooks of a task and print them',
        operands,
        options: listenOptions,
        notes: `Registers a webhook with its own token and deletes it on exit. Exits when the task ends, after --count
calls, or on Ctrl+C.`,
        examples: [
          `${legate} listen http://localhost:8000 01a1…`,
          `${legate} listen -a agent.example --json --url https://me.example/hook 01a1…`,
        ],
        run: async () => (await load()).listen,
      }),
    ],
  });
}

/** The commands about tasks under the names of the A2A CLI specification. */
export function taskCommand(): Command {
  return command('task', {
    summary: 'manage tasks: get, list, cancel, subscribe, download, webhooks',
    commands: [
      getCommand(),
      listCommand().description('list tasks'),
      cancelCommand(),
      subscribeCommand(),
      downloadCommand(),
      pushConfigCommand(),
    ],
    notes: 'get, list, cancel and subscribe also work without "task".',
  });
}
