import { statSync } from 'node:fs';
import {
  type Assistant,
  type BotMessage,
  buildAssistant,
  type TrackerEvent,
} from '../assistant/index.ts';
import { formatProblem, present } from '../config/index.ts';
import { type JsonObject, textOfValue } from '../protocol/index.ts';
import { Opened } from '../service/index.ts';
import { openStore, type Store } from '../store/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { ShellCommandOptions } from './commands/assistants.ts';
import { readEndpoints } from './endpoints.ts';
import { createLogger } from './logger.ts';
import type { CommandPeers } from './peers.ts';
import { callBindings, loadFrom } from './project-files.ts';
import { Progress } from './progress.ts';
import { eachLine, note, payloadOf, sessionStart, type ShellCommands } from './terminal.ts';

const commands: ShellCommands = {
  '/slots': 'show slot values',
  '/stack': 'show active flows and their steps',
  '/history': 'show the conversation',
  '/restart': 'start a new conversation',
};

/**
 * A conversation over standard input and output: one line is one message. On a terminal it shows a
 * prompt; in a pipe it prints only the messages of the assistant.
 */
export async function shell(target: string, options: ShellCommandOptions): Promise<void> {
  if (options.agentCard === undefined && isModule(target)) return moduleShell(target, options);
  const agent = options.agentCard ?? (isAgent(target) ? target : undefined);
  if (agent === undefined) return assistantShell(target, options);
  const { remoteShell } = await import('./remote-shell.ts');
  return remoteShell(agent, options);
}

/** `agent.ts`, or `agents.ts#bob` for one of several exports. */
function isModule(text: string): boolean {
  const [file = ''] = text.split('#', 1);
  return /\.[cm]?[jt]s$/.test(file) && statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

/** Serves the agent on loopback during the conversation, with a store in memory. */
async function moduleShell(module: string, options: ShellCommandOptions): Promise<void> {
  const { loadAgent } = await import('./load-agent.ts');
  const { serveAgent } = await import('./serving.ts');
  const { remoteShell } = await import('./remote-shell.ts');
  const logger = createLogger(options.logLevel);
  const { agent, directory } = await loadAgent(module, { logger });
  const showErrors = process.env['NODE_ENV'] !== 'production';
  await using opened = new Opened();
  const store = await openStore(storage);
  opened.defer(() => store.close());
  const { name } = agent;
  const peers = await peersOf({ name, directory, store, logger }, options, opened);
  const served = peers?.wrap(agent) ?? agent;
  const started = opened.use(await serveAgent(served, { store, logger, showErrors }));
  await peers?.start(started.engine);
  await remoteShell(started.url, options);
}

const storage = { type: 'memory' } as const;

/** Opens the peers of `peers:` in endpoints.yml for the duration of the conversation. */
async function peersOf(
  given: {
    readonly name: string;
    readonly directory: string;
    readonly store: Store;
    readonly logger: Logger;
  },
  { endpoints: file }: ShellCommandOptions,
  opened: Opened,
): Promise<CommandPeers | undefined> {
  const { directory, ...rest } = given;
  const endpoints = await readEndpoints(directory, {
    ...present({ endpoints: file }),
    ignoresBus: true,
  });
  if (endpoints.peers === undefined) return undefined;
  const { openCommandPeers } = await import('./peers.ts');
  return opened.use(await openCommandPeers({ ...rest, endpoints, storage }));
}

/** Whether the text is a URL, an agent card or a host. An existing folder is always a project. */
function isAgent(text: string): boolean {
  if (/^(?:https?|file):/i.test(text)) return true;
  if (statSync(text, { throwIfNoEntry: false })?.isDirectory() === true) return false;
  const isHost = /^(?:localhost|\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)+)(?::\d+)?(?:\/|$)/i.test(text);
  return isHost || /\.json(?:#|$)/.test(text) || /^[\w.-]+:\d+(?:\/|$)/.test(text);
}

async function assistantShell(directory: string, options: ShellCommandOptions): Promise<void> {
  await using opened = new Opened();
  const { assistant, intents } = await load(directory, options, opened);
  const conversation = new ShellConversation(assistant, options.sender);
  // Before the input is opened: lines without a listener are lost.
  await conversation.open();
  note('Type a message, or /help for commands.');
  await eachLine((text) => conversation.answer(text), {
    commands,
    buttons: () => conversation.buttons,
    isMessage: (name) => intents.has(name),
  });
}

async function load(
  directory: string,
  options: ShellCommandOptions,
  opened: Opened,
): Promise<{ readonly assistant: Assistant; readonly intents: ReadonlySet<string> }> {
  using _progress = new Progress('Loading the project');
  const { project, problems } = await loadFrom(directory, options);
  for (const problem of problems.nonFatal) console.error(formatProblem(problem));
  problems.throwIfErrors();
  const logger = createLogger(options.logLevel);
  const store = await openStore(storage);
  opened.defer(() => store.close());
  const { name } = project;
  const { network } = (await peersOf({ name, directory, store, logger }, options, opened)) ?? {};
  await network?.start();
  const assistant = opened.use(
    await buildAssistant(project, {
      logger,
      bindings: callBindings,
      ...(network !== undefined && { peers: () => network }),
    }),
  );
  const triggers = [...project.flows.values()].flatMap(({ nluTrigger }) => nluTrigger);
  const intents = [...project.domain.intents, ...triggers.map(({ intent }) => intent)];
  return { assistant, intents: new Set(intents) };
}

/** The conversation state to show. */
interface ShownTracker {
  readonly slots?: JsonObject;
  readonly stack?: readonly { readonly flowId: string; readonly stepId: string }[];
  readonly transcript?: readonly { readonly speaker: string; readonly text: string }[];
}

class ShellConversation {
  readonly #assistant: Assistant;
  readonly #senderId: string;
  #tracker: JsonObject | undefined;
  readonly #log: TrackerEvent[] = [];
  #buttons: NonNullable<BotMessage['buttons']> = [];

  constructor(assistant: Assistant, senderId: string) {
    this.#assistant = assistant;
    this.#senderId = senderId;
  }

  /** Starts a new conversation; the assistant sends its welcome. */
  async open(): Promise<void> {
    this.#tracker = undefined;
    this.#log.length = 0;
    await this.#send(sessionStart);
  }

  get buttons(): NonNullable<BotMessage['buttons']> {
    return this.#buttons;
  }

  async answer(text: string): Promise<void> {
    if (text === '/restart') await this.open();
    else if (!this.#runCommand(text)) await this.#send(payloadOf(text, this.#buttons));
  }

  /** Runs a command of the shell; false when the text is a message for the assistant. */
  #runCommand(text: string): boolean {
    const { slots = {}, stack = [], transcript = [] } = (this.#tracker ?? {}) as ShownTracker;
    if (text === '/slots') {
      for (const [name, value] of Object.entries(slots)) {
        console.log(`${name}: ${JSON.stringify(value)}`);
      }
    } else if (text === '/stack') {
      for (const { flowId, stepId } of stack) console.log(`${flowId} at ${stepId}`);
      if (stack.length === 0) console.log('no active flow');
    } else if (text === '/history') {
      for (const { speaker, text: line } of transcript) {
        // The shell sent it to start the conversation.
        if (line === sessionStart) continue;
        console.log(`${speaker === 'user' ? 'you' : 'assistant'}: ${line}`);
      }
    } else {
      return false;
    }
    return true;
  }

  async #send(text: string): Promise<void> {
    this.#buttons = [];
    const { tracker, events } = await this.#assistant.handle({
      senderId: this.#senderId,
      tracker: this.#tracker,
      text,
      channel: 'cmdline',
      history: async ({ last }) => this.#log.slice(-last),
      onMessage: (message) => this.#show(message),
      onChunk: (piece) => {
        if (piece.kind === 'chunk') process.stdout.write(piece.text);
        else if (piece.kind === 'end') process.stdout.write('\n');
      },
    });
    this.#tracker = tracker;
    this.#log.push(...events);
  }

  #show(message: BotMessage): void {
    const { text, buttons = [], metadata, quickReplies: _, ...rest } = message;
    if (text !== undefined && metadata?.['streamed'] !== true) console.log(text);
    if (buttons.length > 0) this.#buttons = buttons;
    for (const [index, { title }] of buttons.entries()) console.log(`  ${index + 1}) ${title}`);
    for (const [kind, value] of Object.entries(rest)) {
      console.log(`  ${kind}: ${textOfValue(value)}`);
    }
  }
}
