import { hash } from 'node:crypto';
import { z } from 'zod';
import {
  type Agent,
  type Caller,
  endOf,
  failed,
  handsOver,
  type Turn,
  turnEvents,
  type TurnEnd,
  type TurnEvent,
} from '../../agents/index.ts';
import { present } from '../../config/index.ts';
import { readResumePoint, RemoteTask, type ResumePoint } from '../../client/index.ts';
import {
  type AgentCard,
  data,
  LegateError,
  type SendMessageRequest,
  text,
  toLegateError,
} from '../../protocol/index.ts';
import { RecordSpace, type RecordStore } from '../../store/index.ts';
import { Sender } from '../exchange.ts';
import type { MessageSigner } from '../identity/signer.ts';
import type { Bus } from '../transport/bus.ts';
import { brokerRequirement, checkBusName } from '../transport/checks.ts';
import { queueTransport, type ReplyBox } from './queue-transport.ts';

/**
 * An agent behind the gateway.
 * @example
 * const oracle: GatewayAgent = {
 *   name: 'oracle',
 *   card: { description: 'Says yes or no.', skills: [] },
 *   replies: 'message',
 * };
 */
export interface GatewayAgent {
  /** Its name on the bus. */
  readonly name: string;
  /** Its description and skills, until it announces itself. @default none */
  readonly card?: Pick<AgentCard, 'description' | 'skills'> &
    Partial<Pick<AgentCard, 'version' | 'defaultInputModes' | 'defaultOutputModes'>>;
  /** Whether it may answer with a plain message instead of a task. @default 'task' */
  readonly replies?: 'task' | 'message';
}

export interface BusAgentOptions {
  readonly bus: Bus;
  readonly agent: GatewayAgent;
  readonly replies: ReplyBox;
  /** Stores the agent's task behind each task of the gateway. */
  readonly records: RecordStore;
  /** The gateway's own name, the same for all its processes. */
  readonly gateway: string;
  /** Whether tasks outlive the process, so that another one continues them. */
  readonly isDurable: boolean;
  /** Vouches for the callers. Without it they have distinct names, but are not authenticated. */
  readonly signer?: MessageSigner | undefined;
}

const cancelGraceMs = 10_000;
const thirtyDays = 30 * 24 * 60 * 60 * 1000;

/**
 * An agent on the bus with the interface of a local one. Its task has the gateway's task id as
 * correlation id; when a process dies, another one sends the message again.
 */
export function busAgent(options: BusAgentOptions): Agent {
  const { name, card, replies } = options.agent;
  checkBusName(name, 'the agent');
  return {
    // Distinguishes the gateway's tasks from the agent's where both are in one store.
    name: `${options.gateway}/${name}`,
    description: card?.description ?? name,
    skills: card?.skills ?? [],
    // Without a card, the agent itself decides.
    inputModes: card?.defaultInputModes ?? ['*/*'],
    ...present({ outputModes: card?.defaultOutputModes, replies }),
    serialise: 'task',
    onInterrupted: options.isDurable ? 'run-again' : 'fail',
    unavailable: () => brokerRequirement(options.bus)(),
    take: (turn) => take(options, turn),
    async abandon(turn) {
      const { messageId } = turn.message;
      try {
        const point = (await findPoint(options, turn)) ?? { messageId };
        await transportOf(options, turn).cancel(point, {});
      } catch (error) {
        cancelFailed(options, turn)(error);
      }
      return undefined;
    },
  };
}

async function* take(options: BusAgentOptions, turn: Turn): AsyncGenerator<TurnEvent> {
  try {
    const point = turn.isContinuation ? await findPoint(options, turn) : undefined;
    const task = new RemoteTask({
      transport: transportOf(options, turn),
      request: requestOf(turn, point),
      point,
      signal: turn.signal,
      cancelGraceMs,
      handsOver,
      save: async (saved) => savePoint(options, turn, saved),
      onCancelFailed: cancelFailed(options, turn),
    });
    yield endOf(options.agent.name, yield* turnEvents(task));
  } catch (error) {
    turn.signal.throwIfAborted();
    yield failure(toLegateError(error));
  }
}

function requestOf(turn: Turn, point: ResumePoint | undefined): SendMessageRequest {
  const { message, metadata, acceptedOutputModes, taskId, contextId, isContinuation } = turn;
  const { taskId: _own, ...rest } = message;
  if (isContinuation && point?.taskId === undefined) {
    throw new LegateError(
      'TASK_NOT_FOUND',
      `the agent's task behind task ${taskId} is unknown: start a new task`,
    );
  }
  return {
    message: { ...rest, contextId, ...(point?.taskId !== undefined && { taskId: point.taskId }) },
    metadata,
    ...(acceptedOutputModes.length > 0 && { configuration: { acceptedOutputModes } }),
  };
}

function transportOf({ bus, gateway, signer, agent, replies }: BusAgentOptions, turn: Turn) {
  const sender = new Sender({ bus, name: senderName(gateway, turn.caller), signer });
  return queueTransport({
    sender,
    agent: agent.name,
    replies,
    correlationId: turn.taskId,
    principal: turn.caller,
  });
}

const resumePoint = z.unknown().transform((value, context) => {
  const point = readResumePoint(value);
  if (point === undefined) context.addIssue('is not a resume point');
  return point ?? z.NEVER;
});

/** The agent's tasks behind the tasks of the gateway, keyed by the gateway's task ids. */
function pointsOf({ records }: BusAgentOptions, { clock }: Turn): RecordSpace<ResumePoint> {
  return new RecordSpace({
    records,
    space: 'gateway-tasks',
    schema: resumePoint,
    version: 2,
    clock,
  });
}

async function findPoint(options: BusAgentOptions, turn: Turn): Promise<ResumePoint | undefined> {
  return (await pointsOf(options, turn).get(turn.taskId))?.value;
}

async function savePoint(options: BusAgentOptions, turn: Turn, point: ResumePoint): Promise<void> {
  const points = pointsOf(options, turn);
  const expiresAt = turn.clock.now() + thirtyDays;
  await points.write(points.toWrite(turn.taskId, point, { expiresAt }));
}

function cancelFailed({ agent }: BusAgentOptions, { logger }: Turn): (error: unknown) => void {
  return (error) => logger.warn({ agent: agent.name, error }, 'bus.cancel.failed');
}

/** Distinguishes the callers of a gateway that does not sign its messages; the same in every process. */
function senderName(gateway: string, { tenant, subject }: Caller): string {
  const digest = hash('sha256', JSON.stringify([tenant, subject]), 'hex');
  return `${gateway.slice(0, 60)}-${digest.slice(0, 32)}`;
}

/** An error of the agent, as data and as text. */
function failure({ code, message, metadata }: LegateError): TurnEnd {
  const type = code.toLowerCase();
  const what = code === 'INTERNAL' ? 'The agent failed while working on this task.' : message;
  const info = { error_type: type, ...(metadata && { error_info: metadata }) };
  return failed([data({ state: 'failed', ...info }), text(what)], {
    metadata: { error_type: type },
  });
}
