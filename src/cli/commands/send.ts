import { Command, InvalidArgumentError } from 'commander';
import {
  awaitAuthOption,
  type ClientCommandOptions,
  clientNotes,
  option,
  pollIntervalOption,
  withClient,
} from './client-options.ts';

/** One part of a message, as its flags say it. */
export interface PartFlag {
  readonly kind: 'text' | 'file' | 'data';
  readonly value: string;
  readonly mediaType?: string;
}

export interface SendCommandOptions extends ClientCommandOptions {
  readonly contextId?: string;
  readonly taskId?: string;
  readonly messageId?: string;
  readonly metadata?: string;
  readonly async?: boolean;
  readonly wait?: boolean;
  readonly stream?: boolean;
  readonly awaitAuth?: boolean;
  readonly pollInterval?: string;
  readonly history?: string;
}

export function sendCommand(): Command {
  // The flags of parts share one list, for their order is the order of the parts.
  const parts: PartFlag[] = [];
  const part = (kind: PartFlag['kind']) => (value: string) => {
    parts.push({ kind, value });
    return value;
  };
  const mediaType = (type: string): string => {
    const last = parts.pop();
    if (last === undefined) throw new InvalidArgumentError('Must follow --text, --file or --data.');
    parts.push({ ...last, mediaType: type });
    return type;
  };
  const group = 'Message:';
  const command = new Command('send')
    .argument(
      '[words...]',
      'the agent (unless --agent-card names it) and the text; - reads standard input',
    )
    .addOption(
      option('--text <text>', 'text part; repeatable').argParser(part('text')).helpGroup(group),
    )
    .addOption(
      option('--file <path>', 'file part: a path, a URL, or - for standard input; repeatable')
        .argParser(part('file'))
        .helpGroup(group),
    )
    .addOption(
      option(
        '--data <path>',
        'data part: a JSON file, inline JSON, or - for standard input; repeatable',
      )
        .argParser(part('data'))
        .helpGroup(group),
    )
    .addOption(
      option('--media-type <type>', 'media type of the preceding part', 'from the file name')
        .argParser(mediaType)
        .helpGroup(group),
    )
    .addOption(option('--metadata <json>', 'JSON object to send as metadata').helpGroup(group))
    .addOption(
      option('--message-id <id>', 'message id, to resend the same message', 'a new id').helpGroup(
        group,
      ),
    )
    .option('--context-id <id>', 'continue a conversation with a new task')
    .option('--task-id <id>', 'continue a task, for instance to answer its question')
    .addOption(option('--async', 'do not wait; print the ids and exit').conflicts('stream'))
    .addOption(option('--no-wait', 'alias of --async'))
    .addOption(option('--return-immediately', 'alias of --async').implies({ async: true }))
    .option('--wait', 'wait until the task ends or needs input (default)')
    .option('--stream', 'print events as they arrive; with --json, one object per line')
    .option('--history <count>', 'maximum number of history messages to print')
    .addOption(awaitAuthOption())
    .addOption(pollIntervalOption())
    .addHelpText(
      'after',
      `${clientNotes}
Exits with 0 if the agent answered, even if its task failed: check the task state.

Examples:
  legate send http://localhost:8000 "Book a table for two"
  legate send -a agent.example --stream --json "Write a report"
  legate send -a agent.example --file report.pdf --text "Sum it up"
  git diff | legate send agent.example -
  legate send -a agent.example --task-id 01a1… "At eight"
  A2ACLI_BEARER=… legate send agent.example --data order.json --async`,
    );
  return withClient(command).action(
    async (words: readonly string[], options: SendCommandOptions) => {
      const { send } = await import('../client/send.ts');
      await send(words, parts, options);
    },
  );
}
