import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  AgentCard,
  Message,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from '@a2a-js/sdk/server/express';
import express from 'express';

/** Asks when told to, and otherwise answers in two pieces. */
const executor: AgentExecutor = {
  execute({ taskId, contextId, userMessage, task }: RequestContext, bus: ExecutionEventBus) {
    const now = new Date().toISOString();
    const history = [Message.toJSON(userMessage)];
    const begun = { id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' }, history };
    const content = userMessage.parts[0]?.content;
    const text = content?.$case === 'text' ? content.value : '';
    if (text === 'reply') {
      const plain = {
        messageId: 'r',
        role: 'ROLE_AGENT',
        contextId,
        parts: [{ text: 'Plainly said' }],
      };
      bus.publish(AgentEvent.message(Message.fromJSON(plain)));
      bus.finished();
      return Promise.resolve();
    }
    if (task === undefined) bus.publish(AgentEvent.task(Task.fromJSON(begun)));
    const status = (state: string): void =>
      bus.publish(
        AgentEvent.statusUpdate(
          TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state, timestamp: now } }),
        ),
      );
    if (text === 'ask') {
      status('TASK_STATE_INPUT_REQUIRED');
    } else {
      for (const [index, text] of ['one ', 'two'].entries()) {
        const artifact = { artifactId: 'result', parts: [{ text }] };
        const update = { taskId, contextId, artifact, append: index > 0 };
        bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)));
      }
      status('TASK_STATE_COMPLETED');
    }
    bus.finished();
    return Promise.resolve();
  },
  cancelTask: () => Promise.resolve(),
};

/** A server made with the official JavaScript SDK: both bindings, both versions. */
export async function officialServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const app = express();
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const card = AgentCard.fromJSON({
    name: 'Official',
    description: 'Made with the official SDK',
    version: '1.0.0',
    supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) => [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion },
      { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
    ]),
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'one', name: 'One', description: 'Counts to two', tags: ['count'] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const common = { legacyCompat: { enabled: true } };
  const handling = { ...common, requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.use(
    '/.well-known/agent-card.json',
    agentCardHandler({ ...common, agentCardProvider: requestHandler }),
  );
  app.use('/rpc', jsonRpcHandler(handling));
  app.use('/rest', restHandler(handling));
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
