/**
 * The official JavaScript SDK, configured as in its samples: Express and the default handler. It stores
 * tasks in memory or in the database of the first argument: a PostgreSQL URL, or a SQLite file.
 */
import type { AddressInfo } from 'node:net';
import { type AgentCard, type Artifact, type Part, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { workOf } from '../work.ts';
import { Instruments } from './instruments.ts';
import { openSdkStore } from './sdk-task-store.ts';

const instruments = new Instruments();

const executor: AgentExecutor = {
  async execute(context, bus) {
    const end = instruments.turn();
    bus.publish(
      AgentEvent.task({
        id: context.taskId,
        contextId: context.contextId,
        status: status(TaskState.TASK_STATE_SUBMITTED),
        artifacts: [],
        history: [context.userMessage],
        metadata: undefined,
      }),
    );
    await publishWork(context, bus);
    bus.publish(
      AgentEvent.statusUpdate({
        taskId: context.taskId,
        contextId: context.contextId,
        status: status(TaskState.TASK_STATE_COMPLETED),
        metadata: undefined,
      }),
    );
    bus.finished();
    end();
  },
  async cancelTask() {},
};

async function publishWork(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
  const [part] = context.userMessage.parts;
  const words = part?.content?.$case === 'text' ? part.content.value : '';
  const work = workOf(words);
  if (work.kind === 'echo') {
    publishPiece(context, bus, { words, append: false, lastChunk: true });
    return;
  }
  const artifactId = crypto.randomUUID();
  const piece = 'x'.repeat(work.size);
  for (let index = 0; index < work.count; index += 1) {
    publishPiece(context, bus, {
      words: piece,
      artifactId,
      append: work.kind === 'chunks' && index > 0,
      lastChunk: index === work.count - 1,
    });
    // An agent that streams waits for its model between two chunks.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

interface Piece {
  words: string;
  artifactId?: string;
  append: boolean;
  lastChunk: boolean;
}

function publishPiece(context: RequestContext, bus: ExecutionEventBus, piece: Piece): void {
  const { words, artifactId = crypto.randomUUID(), append, lastChunk } = piece;
  const { taskId, contextId } = context;
  bus.publish(
    AgentEvent.artifactUpdate({
      taskId,
      contextId,
      artifact: artifactOf(artifactId, words),
      append,
      lastChunk,
      metadata: undefined,
    }),
  );
}

function artifactOf(artifactId: string, words: string): Artifact {
  const part: Part = {
    content: { $case: 'text', value: words },
    metadata: undefined,
    filename: '',
    mediaType: '',
  };
  return {
    artifactId,
    name: '',
    description: '',
    parts: [part],
    metadata: undefined,
    extensions: [],
  };
}

function status(state: TaskState) {
  return { state, message: undefined, timestamp: new Date().toISOString() };
}

const card: AgentCard = {
  name: 'Echo',
  description: 'Says what it hears.',
  supportedInterfaces: [
    { url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
  ],
  provider: undefined,
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
};

const [, , database] = process.argv;
const store = database === undefined ? new InMemoryTaskStore() : await openSdkStore(database);
const app = express();
app.use(
  jsonRpcHandler({
    requestHandler: new DefaultRequestHandler(card, store, executor),
    userBuilder: UserBuilder.noAuthentication,
  }),
);
const server = app.listen(0, '127.0.0.1', () =>
  instruments.report((server.address() as AddressInfo).port),
);
