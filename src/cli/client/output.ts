import {
  isInterrupted,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
} from '../../protocol/index.ts';
import { authorizationUrls } from './following.ts';
import { quoted } from './choices.ts';
import type { Session } from './session.ts';
import { TextWriter } from './text.ts';

/** What to show of a task besides its result. */
interface Shown {
  readonly withHistory?: boolean;
}

/** Prints results on standard output, in the requested format. */
export class Output {
  readonly text: TextWriter;
  readonly #session: Session;
  readonly #indent: number | undefined;

  /** `isStream`: JSON on one line per event, for line-based readers. */
  constructor(session: Session, { isStream = false }: { readonly isStream?: boolean } = {}) {
    this.#session = session;
    this.#indent = isStream ? undefined : 2;
    const { isVerbose } = session.choices;
    this.text = new TextWriter({ write: (text) => void process.stdout.write(text), isVerbose });
  }

  get isJson(): boolean {
    return this.#session.choices.isJson;
  }

  /** One whole document. */
  document(value: unknown, render: (text: TextWriter) => void): void {
    if (this.isJson) process.stdout.write(`${JSON.stringify(value, undefined, this.#indent)}\n`);
    else render(this.text);
  }

  /** One of several documents, each on its own line. */
  line(value: unknown, render: (text: TextWriter) => void): void {
    if (this.isJson) process.stdout.write(`${JSON.stringify(value)}\n`);
    else render(this.text);
  }

  /** One event of a stream; call `endStream` after the last. */
  event(response: StreamResponse): void {
    this.line(response, (text) => text.event(response));
  }

  /** Prints the state of the task at the end of its stream, and the next step for the caller. */
  endStream(task: Task): void {
    this.text.closeBlock();
    if (!this.isJson) this.text.status(task.id, task.contextId, task.status);
    this.next(task);
  }

  response(response: SendMessageResponse, shown: Shown = {}): void {
    this.document(response, (text) => {
      if ('task' in response) text.task(response.task, shown);
      else text.reply(response.message);
    });
    if ('task' in response) this.next(response.task);
  }

  task(task: Task, shown: Shown = {}): void {
    this.document(task, (text) => text.task(task, shown));
    this.next(task);
  }

  /** Prints the next step for the caller in this state of the task. */
  next(task: Pick<Task, 'id' | 'status'>): void {
    const { state } = task.status;
    const { agentFlag } = this.#session.choices;
    const id = quoted(task.id);
    if (isInterrupted(state)) {
      this.#session.warn(
        `the task needs ${state === 'TASK_STATE_AUTH_REQUIRED' ? 'authorization' : 'input'} (${state})`,
      );
      if (state === 'TASK_STATE_AUTH_REQUIRED') this.#authorize(task);
      this.#hint('Resume', `legate send ${agentFlag} --task-id ${id} "your reply"`);
    } else if (state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED') {
      this.#session.warn(
        `task ${state === 'TASK_STATE_FAILED' ? 'failed' : 'rejected'} (${state})`,
      );
    } else if (state !== 'TASK_STATE_COMPLETED' && state !== 'TASK_STATE_CANCELED') {
      this.#hint('Follow', `legate get ${agentFlag} --wait ${id}`);
    }
  }

  /** Prints where to authorize, and how to wait: the agent can continue by itself (A2A 7.6). */
  #authorize({ id, status }: Pick<Task, 'id' | 'status'>): void {
    const { agentFlag } = this.#session.choices;
    for (const url of authorizationUrls(status)) this.#hint('Authorize', url);
    if (this.#session.schemes.some(({ kind }) => /^(?:oauth2|openIdConnect)/.test(kind))) {
      this.#hint('Login', `legate auth login ${agentFlag}`);
    }
    this.#hint('Follow', `legate get ${agentFlag} --wait --await-auth ${quoted(id)}`);
  }

  /** A field of the text output; with JSON it goes to standard error. */
  #hint(label: string, command: string): void {
    if (this.isJson) this.#session.warn(`${label.toLowerCase()}: ${command}`);
    else this.text.field(label, command);
  }
}
