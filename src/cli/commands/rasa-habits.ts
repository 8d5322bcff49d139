/** Commands that Rasa has too. */
const shared = new Set(['run', 'shell', 'chat', 'inspect', 'train', 'validate', 'test']);
/** Those of them that log. */
const logging = new Set(['run', 'shell', 'chat', 'inspect', 'test']);

/** What `rasa data validate` may validate alone. */
const parts = new Set(['flows', 'stories', 'translations']);
/** What `rasa train` and `rasa shell` may train or ask alone. */
const models = new Set(['nlu', 'core']);

/** Commands of Rasa that scripts call and that have nothing to do here, with the reason. */
const needless: ReadonlyMap<string, string> = new Map([
  ['telemetry', 'nothing to do: Legate collects no data about its use'],
  ['license', 'nothing to do: Legate needs no license'],
  ['test nlu', 'nothing to do: no NLU model is trained; "legate test e2e" runs the conversations'],
  ['test core', 'nothing to do: no stories are read; "legate test e2e" runs the conversations'],
]);

/** Commands of Rasa without a counterpart, with what to use. */
const replaced: ReadonlyMap<string, string> = new Map([
  [
    'interactive',
    'talk to the assistant with "legate shell", or with "legate dev" while you edit it',
  ],
  ['visualize', 'the inspector shows the flows: "legate inspect"'],
  ['x', 'the inspector shows conversations: "legate inspect"'],
  ['export', 'read conversations from the HTTP API: "legate run --enable-api"'],
  ['evaluate', 'count markers in the traces and metrics of "telemetry" in endpoints.yml'],
  ['studio', 'edit the files of the project'],
  ['llm', 'run the conversations with "legate test e2e"'],
  ['data split', 'there is no training data; write end-to-end tests'],
  ['data convert', 'there is no training data; write flows'],
  ['data migrate', 'write flows'],
]);

const levels: ReadonlyMap<string, string> = new Map([
  ['-v', 'info'],
  ['--verbose', 'info'],
  ['-vv', 'debug'],
  ['--debug', 'debug'],
  ['--quiet', 'error'],
]);

/** Options of Rasa that have no effect here, and whether a value follows. */
const withoutEffect: ReadonlyMap<string, boolean> = new Map([
  ['--force', false],
  ['--skip-validation', false],
  ['--auto-reload', false],
  ['--use-syslog', false],
  ['--finetune', false],
  ['--persist-nlu-data', false],
  ['--remote-storage', true],
  ['--log-file', true],
  ['--logging-config-file', true],
  ['--connector', true],
  ['--response-timeout', true],
  ['--request-timeout', true],
  ['--num-threads', true],
  ['--augmentation', true],
  ['--max-history', true],
  // Of `run actions`, which says that the action server starts with the assistant.
  ['--actions', true],
]);

/** Other names of options. */
const renamed: ReadonlyMap<string, string> = new Map([['--conversation-id', '--sender']]);

/** A command line as it is parsed, and what to tell about it. */
export interface Habits {
  readonly args: readonly string[];
  readonly warning?: string;
  /** How a command ends that is not run: 0 where nothing is to be done, 2 where something else does it. */
  readonly exitCode?: 0 | 2;
}

/** `data validate flows` as `validate`: all parts are validated together. */
function withoutData(typed: readonly string[]): readonly string[] {
  const [data, command, part = '', ...rest] = typed;
  if (data !== 'data' || command !== 'validate') return typed;
  return parts.has(part) ? [command, ...rest] : typed.slice(1);
}

/** Translates what Rasa's users type: `data validate`, `run -vv --debug`, `test e2e --e2e-results`. */
export function fromRasa(typed: readonly string[]): Habits {
  return withoutCounterpart(typed) ?? translate(typed);
}

function withoutCounterpart(typed: readonly string[]): Habits | undefined {
  const [first = '', second = ''] = typed;
  for (const name of [first, `${first} ${second}`]) {
    const reason = needless.get(name);
    if (reason !== undefined) return { args: typed, warning: reason, exitCode: 0 };
    const instead = replaced.get(name);
    if (instead === undefined) continue;
    return { args: typed, warning: `there is no command "${name}": ${instead}`, exitCode: 2 };
  }
  return undefined;
}

/** Leaves out what names a part of a project, where commands take all of it. */
function withoutModel(typed: readonly string[]): { given: readonly string[]; ignored: string[] } {
  const [command = '', part = '', ...rest] = typed;
  const isPart = ['train', 'shell'].includes(command) && models.has(part);
  return isPart ? { given: [command, ...rest], ignored: [part] } : { given: typed, ignored: [] };
}

function translate(typed: readonly string[]): Habits {
  const { given, ignored } = withoutModel(withoutData(typed));
  const [command = ''] = given;
  if (!shared.has(command)) return { args: typed };
  const args: string[] = [];
  for (let at = 0; at < given.length; at += 1) {
    const arg = given[at] ?? '';
    const [name = '', value] = arg.split('=', 2);
    const level = levels.get(arg);
    const next = given[at + 1];
    const hasValue = next !== undefined && !next.startsWith('-');
    if (level !== undefined) {
      if (logging.has(command)) args.push('--log-level', level);
      // Also logs the requests to an agent elsewhere.
      if (arg === '--debug' && ['shell', 'chat', 'inspect'].includes(command)) args.push(arg);
    } else if (name === '--e2e-results') {
      args.push('--output-results', value ?? (hasValue ? next : 'tests'));
      args.push('--results-prefix', 'e2e_results_');
      if (value === undefined && hasValue) at += 1;
    } else if (withoutEffect.has(name)) {
      ignored.push(name);
      if (withoutEffect.get(name) === true && value === undefined && hasValue) at += 1;
    } else args.push(renamed.has(name) ? arg.replace(name, renamed.get(name) ?? name) : arg);
  }
  if (ignored.length === 0) return { args };
  return { args, warning: `no effect here: ${ignored.join(', ')}` };
}
