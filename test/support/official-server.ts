import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  AgentCard,
  Message,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import { LegacyA2AService, legacyGrpcService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import express, { type Response } from 'express';

/** Does what the text of a message asks for. */
export class OfficialExecutor implements AgentExecutor {
  /** Tasks that wait to be let go. */
  readonly held = new Map<string, { release: () => void; contextId: string }>();

  async execute(request: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId, contextId, userMessage } = request;
    const publish = {
      task: (state: string) =>
        bus.publish(
          AgentEvent.task(
            Task.fromJSON({
              id: taskId,
              contextId,
              status: { state, timestamp: new Date().toISOString() },
              history: [Message.toJSON(userMessage)],
            }),
          ),
        ),
      status: (state: string, text?: string) => {
        const said = text !== undefined && {
          message: {
            messageId: crypto.randomUUID(),
            role: 'ROLE_AGENT',
            taskId,
            contextId,
            parts: [{ text }],
          },
        };
        const status = { state, timestamp: new Date().toISOString(), ...said };
        bus.publish(
          AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })),
        );
      },
      artifact: (parts: object[], append = false) =>
        bus.publish(
          AgentEvent.artifactUpdate(
            TaskArtifactUpdateEvent.fromJSON({
              taskId,
              contextId,
              artifact: { artifactId: 'result', parts },
              append,
            }),
          ),
        ),
    };
    const content = userMessage.parts[0]?.content;
    switch (content?.$case === 'text' ? content.value : '') {
      case 'reply':
        bus.publish(
          AgentEvent.message(
            Message.fromJSON({
              messageId: 'reply-1',
              role: 'ROLE_AGENT',
              contextId,
              parts: [{ text: 'Plainly said' }],
            }),
          ),
        );
        return;
      case 'ask':
        publish.task('TASK_STATE_SUBMITTED');
        publish.status('TASK_STATE_INPUT_REQUIRED', 'Which one?');
        return;
      case 'silent':
        // Not even the task is published.
        await new Promise<void>((release) => {
          this.held.set(taskId, { release, contextId });
        });
        publish.task('TASK_STATE_WORKING');
        await new Promise<void>((release) => {
          this.held.set(taskId, { release, contextId });
        });
        return;
      case 'file':
        publish.task('TASK_STATE_SUBMITTED');
        publish.artifact([
          { raw: 'AAEC/w==', filename: 'a.bin', mediaType: 'application/octet-stream' },
        ]);
        publish.status('TASK_STATE_COMPLETED');
        return;
      case 'hold':
        publish.task('TASK_STATE_SUBMITTED');
        publish.status('TASK_STATE_WORKING', 'On it');
        publish.artifact([{ text: 'one ' }]);
        await new Promise<void>((release) => {
          this.held.set(taskId, { release, contextId });
        });
        if (!this.held.has(taskId)) return;
        publish.artifact([{ text: 'two ' }], true);
        publish.artifact([{ text: 'three' }], true);
        publish.status('TASK_STATE_COMPLETED');
        return;
      default:
        publish.task(request.task === undefined ? 'TASK_STATE_SUBMITTED' : 'TASK_STATE_WORKING');
        publish.artifact([{ text: 'one ' }]);
        publish.artifact([{ text: 'two' }], true);
        publish.status('TASK_STATE_COMPLETED', 'Done');
    }
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const held = this.held.get(taskId);
    this.held.delete(taskId);
    bus.publish(
      AgentEvent.statusUpdate(
        TaskStatusUpdateEvent.fromJSON({
          taskId,
          contextId: held?.contextId,
          status: { state: 'TASK_STATE_CANCELED', timestamp: new Date().toISOString() },
        }),
      ),
    );
    held?.release();
  }
}

export interface OfficialServer extends AsyncDisposable {
  readonly url: string;
  readonly executor: OfficialExecutor;
  /** Cuts every connection; `then` runs when the next request has come in. */
  readonly cutAll: (then?: () => void) => void;
}

/** A server of the official JavaScript SDK: both HTTP bindings and, if wanted, gRPC, in both versions. */
export async function officialServer({ grpc = false } = {}): Promise<OfficialServer> {
  const executor = new OfficialExecutor();
  const app = express();
  const open = new Set<Response>();
  let onReturn: (() => void) | undefined;
  app.use((_, response, next) => {
    open.add(response);
    if (onReturn !== undefined) setImmediate(onReturn);
    onReturn = undefined;
    response.on('close', () => open.delete(response));
    next();
  });
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const grpcServer = new Server();
  const grpcUrl = grpc ? await listenGrpc(grpcServer) : undefined;
  const card = AgentCard.fromJSON({
    name: 'Official',
    description: 'Made with the official SDK',
    version: '1.0.0',
    supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) => [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion },
      { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
      ...(grpcUrl === undefined
        ? []
        : [{ url: grpcUrl, protocolBinding: 'GRPC', protocolVersion }]),
    ]),
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'one', name: 'One', description: 'Counts to two', tags: ['count'] }],
  });
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor,
    undefined,
    new InMemoryPushNotificationStore(),
    { send: () => Promise.resolve() },
  );
  const common = { legacyCompat: { enabled: true } };
  const handling = { ...common, requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.use(
    '/.well-known/agent-card.json',
    agentCardHandler({ ...common, agentCardProvider: requestHandler }),
  );
  app.use('/rpc', jsonRpcHandler(handling));
  app.use('/rest', restHandler(handling));
  grpcServer.addService(A2AService, grpcService(handling));
  grpcServer.addService(LegacyA2AService, legacyGrpcService(handling));
  return {
    url,
    executor,
    cutAll: (then) => {
      onReturn = then;
      for (const response of open) response.destroy();
    },
    async [Symbol.asyncDispose]() {
      grpcServer.forceShutdown();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listenGrpc(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.bindAsync('localhost:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(`localhost:${port}`);
      else reject(error);
    });
  });
}
