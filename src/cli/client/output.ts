import {
  isInterrupted,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
} from '../../protocol/index.ts';
import { authorizationPlaces } from './authorization.ts';
import { quoted } from './choices.ts';
import type { Session } from './session.ts';
import { StreamText } from './stream-text.ts';
import { TextWriter } from './text.ts';

/** What of a task is shown besides what came of it. */
interface Shown {
  readonly withHistory?: boolean;
}

/** Puts results on standard output, in the format that was asked for. */
export class Output {
  readonly text: TextWriter;
  readonly #stream: StreamText;
  readonly #session: Session;
  readonly #indent: number | undefined;

  /** `isStream`: JSON stands on one line, so that whoever reads lines can read it. */
  constructor(session: Session, { isStream = false }: { readonly isStream?: boolean } = {}) {
    this.#session = session;
    this.#indent = isStream ? undefined : 2;
    const { isVerbose } = session.choices;
    const write = (text: string): void => void process.stdout.write(text);
    this.text = new TextWriter({ write: (line) => write(`${line}\n`), isVerbose });
    this.#stream = new StreamText({ write, isVerbose });
  }

  get isJson(): boolean {
    return this.#session.choices.isJson;
  }

  /** One whole document. */
  document(value: unknown, render: (text: TextWriter) => void): void {
    if (this.isJson) process.stdout.write(`${JSON.stringify(value, undefined, this.#indent)}\n`);
    else render(this.text);
  }

  /** One of several, each on a line of its own. */
  line(value: unknown, render: (text: TextWriter) => void): void {
    if (this.isJson) process.stdout.write(`${JSON.stringify(value)}\n`);
    else render(this.text);
  }

  /** One event of a stream; `closeStream` or `endStream` follows on the last. */
  event(response: StreamResponse): void {
    this.line(response, () => this.#stream.event(response));
  }

  /** Where the task of a stream stands at its end, and what its caller has to do. */
  endStream(task: Task): void {
    this.closeStream();
    if (!this.isJson) this.text.place(task.id, task.contextId, task.status);
    this.next(task);
  }

  closeStream(): void {
    this.#stream.close();
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

  /** What the caller has to know, or to do, about the state of a task. */
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

  /** Where to be let in, and how to wait for what comes then: an agent may go on by itself (A2A 7.6). */
  #authorize({ id, status }: Pick<Task, 'id' | 'status'>): void {
    const { agentFlag } = this.#session.choices;
    for (const place of authorizationPlaces(status)) this.#hint('Authorize', place);
    if (this.#session.schemes.some(({ kind }) => /^(?:oauth2|openIdConnect)/.test(kind))) {
      this.#hint('Login', `legate auth login ${agentFlag}`);
    }
    this.#hint('Follow', `legate get ${agentFlag} --wait --await-auth ${quoted(id)}`);
  }

  /** A field of the text; beside JSON it goes to standard error. */
  #hint(label: string, command: string): void {
    if (this.isJson) this.#session.warn(`${label.toLowerCase()}: ${command}`);
    else this.text.field(label, command);
  }
}
