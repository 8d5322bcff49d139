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
    if (last === undefined) throw new InvalidArgumentError('It follows --text, --file or --data.');
    parts.push({ ...last, mediaType: type });
    return type;
  };
  const group = 'The message:';
  const command = new Command('send')
    .argument('[words...]', 'the agent, where no flag names it, and what to say; - reads it')
    .addOption(
      option('--text <text>', 'a text part; repeatable').argParser(part('text')).helpGroup(group),
    )
    .addOption(
      option('--file <path>', 'a file part: its bytes, its URL, or - for standard input')
        .argParser(part('file'))
        .helpGroup(group),
    )
    .addOption(
      option('--data <path>', 'a data part: a JSON file, - for standard input, or the JSON itself')
        .argParser(part('data'))
        .helpGroup(group),
    )
    .addOption(
      option('--media-type <type>', 'of the part before it', 'from the name of the file')
        .argParser(mediaType)
        .helpGroup(group),
    )
    .addOption(option('--metadata <json>', 'an object to go with the message').helpGroup(group))
    .addOption(
      option('--message-id <id>', 'to send the same message again', 'a new one').helpGroup(group),
    )
    .option('--context-id <id>', 'go on with a conversation: a new task of this context')
    .option('--task-id <id>', 'go on with a task, for instance to answer its question')
    .addOption(option('--async', 'do not wait: give the ids at once').conflicts('stream'))
    .addOption(option('--no-wait', 'the same as --async'))
    .addOption(option('--return-immediately', 'the same as --async').implies({ async: true }))
    .option('--wait', 'wait until the task ends or asks (default)')
    .option('--stream', 'show what happens as it happens; JSON is then one object a line')
    .option('--history <count>', 'the most messages of the past to show')
    .addOption(awaitAuthOption())
    .addOption(pollIntervalOption())
    .addHelpText(
      'after',
      `${clientNotes}
The exit code is 0 when the agent answered, whatever it answered: see the state of the task.

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
