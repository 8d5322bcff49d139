import type { Client, StreamEvent } from '../client/index.ts';
import { present } from '../config/index.ts';
import { errorMessage, LegateError, message, type Part } from '../protocol/index.ts';
import { calling } from './client/calling.ts';
import { afterAuthorization, authorizationUrls, follow } from './client/following.ts';
import { partsOf } from './client/send.ts';
import type { Session } from './client/session.ts';
import { plain, stateWords } from './client/text.ts';
import type { ShellCommandOptions } from './commands/assistants.ts';
import { Progress } from './progress.ts';
import {
  eachLine,
  isTerminal,
  note,
  payloadOf,
  sessionStart,
  type ShellCommands,
} from './terminal.ts';
import { Transcript } from './transcript.ts';

/** A conversation with any A2A agent: one line is one message, and answers are streamed. */
export async function remoteShell(agent: string, options: ShellCommandOptions): Promise<void> {
  // In this command, `--config` is the configuration file of a project.
  const { config: _, ...rest } = options;
  await calling({ ...rest, agentCard: agent }, [], async (session) => {
    await new RemoteConversation(await session.connect(), session).hold();
  });
}

const commands: ShellCommands = {
  '/history': 'show the conversation',
  '/state': 'show the state of the task',
  '/file': 'send a file: /file <path or URL> [text]',
  '/wait': 'after signing in elsewhere, wait for the agent to continue the task',
  '/restart': 'start a new conversation',
  'Ctrl+C': 'clear the line, cancel the running task, or leave',
};

/**
 * Waits for a line (**listening**), sends it and shows the answer (**answering**), and listens again. While
 * a task is interrupted, the next line continues it. Otherwise the next line starts a new task.
 */
class RemoteConversation {
  readonly #client: Client;
  readonly #session: Session;
  readonly #transcript = new Transcript();
  #contextId: string | undefined;
  /** The interrupted task. */
  #taskId: string | undefined;
  #state = 'no task yet';
  /** The running task. */
  #running: string | undefined;

  constructor(client: Client, session: Session) {
    this.#client = client;
    this.#session = session;
    this.#contextId = session.choices.contextId;
  }

  async hold(): Promise<void> {
    const { name } = this.#client.card;
    const { protocolBinding, protocolVersion } = this.#client.interface;
    this.#note(`${name}, A2A ${protocolVersion} over ${protocolBinding}; /help for commands`);
    // Before the input is opened: lines without a listener are lost.
    if (this.#contextId === undefined) await this.#open();
    else await this.#recall(this.#contextId);
    await eachLine((text) => this.#answer(text), {
      commands,
      buttons: () => this.#transcript.buttons,
      onInterrupt: () => this.#cancelRunning(),
    });
  }

  async #answer(text: string): Promise<void> {
    const [command = '', ...words] = text.split(' ');
    if (command === '/state') return this.#showState();
    if (command === '/history') return this.#transcript.show((line) => console.log(line));
    if (command === '/wait' && this.#taskId === undefined) return this.#note('No task is waiting.');
    if (command === '/restart') {
      [this.#contextId, this.#taskId, this.#state] = [undefined, undefined, 'no task yet'];
      this.#transcript.clear();
      this.#note('A new conversation.');
      return this.#open();
    }
    return this.#try(async () => {
      if (command === '/wait') return this.#awaitAuthorization(this.#taskId ?? '');
      const isFile = command === '/file';
      const flags = isFile ? [{ kind: 'file' as const, value: words[0] ?? '' }] : [];
      const typed = isFile ? words.slice(1) : [payloadOf(text, this.#transcript.buttons)];
      return this.#send(await partsOf(typed, flags));
    });
  }

  /** Requests the welcome of an assistant. Other agents would handle the request as a message. */
  async #open(): Promise<void> {
    const isAssistant = this.#client.card.skills.some(({ id }) => id === 'pattern_session_start');
    if (isAssistant) await this.#try(() => this.#send([{ text: sessionStart }]));
  }

  /** Reports a failure and continues the conversation: the next message can succeed. */
  async #try(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (!(error instanceof LegateError)) throw error;
      this.#session.warn(error.message);
      if (!isTerminal()) process.exitCode = 1;
    }
  }

  async #send(parts: readonly Part[]): Promise<void> {
    const sent = message(parts, present({ contextId: this.#contextId, taskId: this.#taskId }));
    this.#transcript.add(sent);
    const isAnswer = this.#taskId !== undefined;
    const { signal } = this.#session;
    await this.#follow(this.#client.sendStreamingMessage(sent, { signal }), isAnswer);
  }

  /** Follows the task after the user authorized the agent, which continues by itself. */
  async #awaitAuthorization(taskId: string): Promise<void> {
    await this.#follow(afterAuthorization(taskId, this.#client, this.#session), false);
  }

  async #follow(events: AsyncIterable<StreamEvent>, isAnswer: boolean): Promise<void> {
    using _progress = new Progress('Waiting for the agent');
    try {
      const result = await follow(events, {
        isAnswer,
        onEvent: (response, task) => {
          this.#running = task?.id;
          const progressText = this.#transcript.take(response);
          if (progressText !== undefined) this.#note(progressText);
        },
      });
      this.#transcript.endLine();
      this.#settle(result);
    } finally {
      this.#running = undefined;
    }
  }

  #settle(result: Awaited<ReturnType<typeof follow>>): void {
    const isTask = 'task' in result;
    this.#contextId =
      (isTask ? result.task.contextId : result.message.contextId) ?? this.#contextId;
    const state = isTask ? result.task.status.state : 'TASK_STATE_COMPLETED';
    const isWaiting = state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED';
    this.#taskId = isTask && isWaiting ? result.task.id : undefined;
    this.#state = isTask
      ? `${stateWords(state)}, task ${result.task.id}`
      : 'a message without a task';
    if (state !== 'TASK_STATE_COMPLETED') this.#note(`(${stateWords(state)})`);
    if (isTask && state === 'TASK_STATE_AUTH_REQUIRED') {
      const urls = authorizationUrls(result.task.status).map((url) => `Open ${url}; `);
      this.#note(`${urls.join('')}/wait continues after you have signed in`);
    }
  }

  /** Shows the history of a resumed conversation. */
  async #recall(contextId: string): Promise<void> {
    const request = { contextId, includeArtifacts: true };
    const { tasks } = await this.#client.listTasks(request, { signal: this.#session.signal });
    for (const task of tasks.toReversed()) this.#transcript.recall(task);
    const waiting = tasks.find(({ status }) => status.state === 'TASK_STATE_INPUT_REQUIRED');
    this.#taskId = waiting?.id;
    this.#note(`${tasks.length} tasks of this conversation; /history shows them`);
  }

  #showState(): void {
    const context = this.#contextId === undefined ? '' : `, context ${this.#contextId}`;
    console.log(plain(`${this.#state}${context}`));
  }

  #cancelRunning(): boolean {
    if (this.#running === undefined) return false;
    this.#note('(canceling)');
    // The stream shows the result; a refused cancellation changes nothing.
    void this.#client.cancelTask(this.#running).catch((error: unknown) => {
      this.#session.warn(errorMessage(error));
    });
    return true;
  }

  #note(text: string): void {
    if (isTerminal()) this.#transcript.endLine();
    note(plain(text));
  }
}
