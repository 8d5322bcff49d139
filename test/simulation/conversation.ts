import {
  isTerminal,
  type Message,
  type TaskPushNotificationConfig,
} from '../../src/protocol/index.ts';
import type { Call } from '../../src/tasks/index.ts';
import type { BusClient } from './bus-client.ts';
import { Exchange, type Outcome } from './exchange.ts';
import type { History } from './history.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Network } from './network.ts';
import type { AgentTraits, ConversationPlan } from './plan.ts';
import type { Random } from './random.ts';
import type { Script } from './scripted-agent.ts';
import type { Report } from './violation.ts';
import type { Lane } from './virtual-time.ts';

export interface ConversationOptions {
  readonly plan: ConversationPlan;
  readonly traits: AgentTraits;
  readonly network: Network;
  readonly ledger: Ledger;
  readonly history: History;
  readonly random: Random;
  readonly outside: Lane;
  readonly report: Report;
  /** The way to the agent over the bus, where it is there. */
  readonly busClient: BusClient | undefined;
}

const callers = 5;

/**
 * A client that talks to the agent, one conversation long: it asks, answers questions, changes its
 * mind, sends twice, does several things at once, and looks at what it has.
 */
export class Conversation {
  readonly name: string;
  readonly #options: ConversationOptions;
  readonly #random: Random;
  readonly #call: Call;
  readonly #exchange: Exchange;
  /** Tasks that wait for input, as far as the client knows. */
  readonly #questions = new Set<string>();
  /** All tasks it has heard of. */
  readonly #tasks: string[] = [];
  /** Its name on the bus, if it sends its messages there. */
  readonly #busName: string | undefined;
  #contextId: string | undefined;
  #sent = 0;

  constructor(options: ConversationOptions) {
    const { plan, random } = options;
    this.name = plan.name;
    this.#options = options;
    this.#random = random;
    const subject = `caller-${random.integer(1, callers)}`;
    this.#busName = options.busClient !== undefined && random.chance(0.5) ? subject : undefined;
    const isOnBus = this.#busName !== undefined;
    this.#call = {
      caller: {
        tenant: '',
        subject: isOnBus ? `unverified:${subject}` : subject,
        method: 'simulated',
      },
      version: !isOnBus && random.chance(0.2) ? '0.3' : '1.0',
    };
    this.#exchange = new Exchange({ ...options, call: this.#call });
    // Else the first answer names the context.
    if (random.chance(0.7)) this.#contextId = plan.name;
  }

  /** What it is waiting for, shown when a run does not end. */
  get state(): string {
    return `${this.name}: ${this.#exchange.state}`;
  }

  async run(): Promise<void> {
    const { plan, outside } = this.#options;
    await outside.sleep(plan.startsAt);
    while (this.#sent < plan.turns) {
      await this.#act();
      await outside.sleep(this.#random.between(0, 20));
    }
  }

  async #act(): Promise<void> {
    const random = this.#random;
    const left = this.#options.plan.turns - this.#sent;
    const isNew = this.#contextId === undefined;
    const what = random.weighted({
      ask: 60,
      'ask and cancel': isNew ? 0 : 14,
      'ask twice': 8,
      'ask again later': 8,
      'ask several at once': isNew || left < 2 ? 0 : 12,
      cancel: this.#questions.size > 0 ? 8 : 0,
      push: this.#questions.size > 0 && this.#mayPush ? 6 : 0,
      list: isNew ? 0 : 5,
    });
    switch (what) {
      case 'ask':
        await this.#ask(this.#message());
        return;
      case 'ask and cancel': {
        const message = this.#message();
        const [outcome] = await Promise.all([this.#ask(message), this.#cancelSoon(message)]);
        // A wish on the bus is not answered when its task was not known yet: it is put again.
        if (this.#busName !== undefined && outcome.kind === 'task' && !isTerminal(outcome.state)) {
          await this.#cancel(outcome.taskId);
        }
        return;
      }
      case 'ask twice': {
        const message = this.#message();
        await Promise.all([this.#ask(message), this.#ask(message)]);
        return;
      }
      case 'ask again later': {
        const message = this.#message();
        const first = await this.#ask(message);
        await this.#options.outside.sleep(random.between(0, 300));
        this.#compare(message, first, await this.#ask(message));
        return;
      }
      case 'ask several at once': {
        const count = Math.min(left, random.integer(2, 4));
        const messages = Array.from({ length: count }, () => this.#message());
        await Promise.all(messages.map((message) => this.#ask(message)));
        return;
      }
      case 'cancel':
        await this.#cancel(random.pick([...this.#questions]));
        return;
      case 'push':
        await this.#changePush(random.pick([...this.#questions]));
        return;
      case 'list':
        await this.#exchange.list(this.#contextId ?? '');
    }
  }

  async #ask(message: Message): Promise<Outcome> {
    const random = this.#random;
    const { taskId } = message;
    if (taskId !== undefined) this.#questions.delete(taskId);
    const push =
      taskId === undefined && this.#mayPush && random.chance(0.1) ? this.#pushConfig() : undefined;
    const outcome =
      this.#busName === undefined
        ? await this.#exchange.ask(
            message,
            random.weighted({ wait: 40, stream: 40, poll: 20 }),
            push,
          )
        : await this.#exchange.askByBus(message, this.#busName);
    if (outcome.kind === 'refused') return outcome;
    this.#contextId ??= outcome.contextId;
    if (outcome.kind === 'task' && !this.#tasks.includes(outcome.taskId)) {
      this.#tasks.push(outcome.taskId);
    }
    if (outcome.kind === 'task' && outcome.state === 'TASK_STATE_INPUT_REQUIRED') {
      this.#questions.add(outcome.taskId);
    }
    return outcome;
  }

  /** Cancels the task that a message is for, or else one that the client finds in its list. */
  async #cancelSoon({ taskId, messageId }: Message): Promise<void> {
    const { outside, busClient } = this.#options;
    await outside.sleep(this.#random.between(0, 30));
    if (this.#busName !== undefined && this.#random.chance(0.7)) {
      await busClient?.cancel(messageId, this.#busName);
      return;
    }
    const target = taskId ?? (await this.#exchange.findUnfinished(this.#contextId ?? ''));
    if (target !== undefined) await this.#cancel(target);
  }

  async #cancel(taskId: string): Promise<void> {
    this.#questions.delete(taskId);
    if (this.#random.chance(0.2)) {
      await Promise.all([this.#exchange.cancel(taskId), this.#exchange.cancel(taskId)]);
    } else await this.#exchange.cancel(taskId);
  }

  async #changePush(taskId: string): Promise<void> {
    await this.#exchange.createPush({ ...this.#pushConfig(), taskId, id: 'extra' });
    if (this.#random.chance(0.3)) await this.#exchange.deletePush(taskId, 'extra');
  }

  get #mayPush(): boolean {
    return this.#options.busClient === undefined;
  }

  #pushConfig(): TaskPushNotificationConfig {
    return { url: `https://hooks.example/${this.name}` };
  }

  /** A repeat finds what the first one came to, or what has become of it since. */
  #compare(message: Message, first: Outcome, second: Outcome): void {
    const isSame =
      first.kind === second.kind &&
      (first.kind !== 'task' || second.kind !== 'task' || first.taskId === second.taskId);
    const isKept =
      first.kind !== 'task' || second.kind !== 'task' || !isTerminal(first.state)
        ? true
        : first.state === second.state;
    if (isSame && isKept) return;
    this.#options.report(
      'a repeated message gets the answer of the first',
      `${message.messageId}: ${JSON.stringify(first)}, then ${JSON.stringify(second)}`,
    );
  }

  #message(): Message {
    const random = this.#random;
    this.#sent += 1;
    // Now and then it adds to a task that may be at work, or over.
    const tasks = random.chance(0.05) ? this.#tasks : [...this.#questions];
    const taskId = tasks.length > 0 && random.chance(0.65) ? random.pick(tasks) : undefined;
    return {
      messageId: `${this.name}-${this.#sent}`,
      role: 'ROLE_USER',
      parts: [{ data: { ...this.#script() } }],
      ...(this.#contextId !== undefined && { contextId: this.#contextId }),
      ...(taskId !== undefined && { taskId }),
    };
  }

  #script(): Script {
    const random = this.#random;
    const mayReply = this.#options.traits.replies === 'message';
    return {
      chunks: random.chance(0.005) ? random.integer(70, 150) : random.integer(0, 3),
      pause: random.chance(0.3) ? 0 : random.chance(0.03) ? 400 : random.integer(1, 12),
      end: random.weighted({
        completed: 60,
        'input-required': 28,
        failed: 3,
        throws: 3,
        hangs: 1,
        reply: mayReply ? 25 : 0,
      }),
      isDeaf: random.chance(0.1),
      speaks: random.chance(0.3),
    };
  }
}
