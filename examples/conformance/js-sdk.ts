/**
 * `node examples/conformance/js-sdk.ts --port 9999 --profile 0.3`: the conformance agent served by the
 * official JavaScript SDK instead of by Legate, so that the suites grade both by the same command.
 */
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import {
  AgentCard,
  Message as SdkMessage,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import { LegacyA2AService, legacyGrpcService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultPushNotificationSender,
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
import express from 'express';
import { noPeers, type Turn, type TurnEvent } from '../../src/agents/index.ts';
import { v1 } from '../../src/protocol/index.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { conformanceAgent } from './agent.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9999' },
    'grpc-port': { type: 'string' },
    profile: { type: 'string', default: '1.0' },
  },
});
const port = Number(values.port);
const grpcPort = Number(values['grpc-port'] ?? port + 1);
const profile = values.profile === '0.3' ? '0.3' : '1.0';
const url = `http://localhost:${port}`;
const agent = conformanceAgent({ profile });

/** Converts the events of the conformance agent to those of the SDK. */
class Executor implements AgentExecutor {
  readonly #running = new Map<string, { contextId: string; turn: AbortController }>();

  async execute(request: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId, contextId, userMessage, task } = request;
    const turn = new AbortController();
    this.#running.set(taskId, { contextId, turn });
    const reference = { taskId, contextId };
    const status = (state: string, parts: readonly object[] = []) => ({
      state,
      timestamp: new Date().toISOString(),
      ...(parts.length > 0 && {
        message: { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', ...reference, parts },
      }),
    });
    let hasTask = task !== undefined;
    const publish = (event: TurnEvent): void => {
      const { kind, parts } = { kind: 'artifact', parts: undefined, ...event };
      if (kind === 'message') {
        const reply = { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', contextId, parts };
        return bus.publish(AgentEvent.message(SdkMessage.fromJSON(reply)));
      }
      if (!hasTask) {
        const history = [SdkMessage.toJSON(userMessage)];
        const opened = { id: taskId, contextId, status: status('TASK_STATE_SUBMITTED'), history };
        bus.publish(AgentEvent.task(Task.fromJSON(opened)));
        hasTask = true;
      }
      if (!('kind' in event) || event.kind === 'chunk') {
        const update = 'kind' in event ? event : { artifact: event };
        const json = TaskArtifactUpdateEvent.fromJSON({ ...update, ...reference });
        return bus.publish(AgentEvent.artifactUpdate(json));
      }
      const state = `TASK_STATE_${kind.toUpperCase().replace('-', '_')}`;
      const json = TaskStatusUpdateEvent.fromJSON({ ...reference, status: status(state, parts) });
      return bus.publish(AgentEvent.statusUpdate(json));
    };
    try {
      for await (const event of agent.take(turnOf(request, turn.signal))) publish(event);
    } catch (error) {
      if (!turn.signal.aborted) throw error;
    } finally {
      this.#running.delete(taskId);
    }
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const running = this.#running.get(taskId);
    running?.turn.abort();
    const status = { state: 'TASK_STATE_CANCELED', timestamp: new Date().toISOString() };
    const event = { taskId, contextId: running?.contextId, status };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(event)));
  }
}

function turnOf({ userMessage, task, ...request }: RequestContext, signal: AbortSignal): Turn {
  const read = (message: SdkMessage) => v1.message.decode(SdkMessage.toJSON(message));
  return {
    message: read(userMessage),
    taskId: request.taskId,
    contextId: request.contextId,
    caller: { tenant: '', subject: '', method: 'anonymous' },
    metadata: {},
    acceptedOutputModes: [],
    extensions: [],
    isContinuation: task !== undefined,
    attempt: 1,
    history: async () => (task?.history ?? []).map(read),
    state: { load: async () => undefined, log: async () => [] },
    peers: noPeers,
    session: { get: async () => undefined, set() {}, delete() {}, entries: async () => new Map() },
    signal,
    clock: Date,
    logger: silentLogger,
  };
}

const card = AgentCard.fromJSON({
  name: agent.name,
  description: agent.description,
  version: '1.0.0',
  supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) => [
    { url, protocolBinding: 'JSONRPC', protocolVersion },
    { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
    {
      // The 0.3 suite reads the URL of every interface as an http one.
      url: profile === '0.3' ? `http://localhost:${grpcPort}` : `localhost:${grpcPort}`,
      protocolBinding: 'GRPC',
      protocolVersion,
    },
  ]),
  // The SDK returns its extended card to every caller, which the 0.3 suite counts as a failure.
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: profile === '1.0' },
  defaultInputModes: ['text/plain', 'application/json'],
  defaultOutputModes: ['text/plain', 'application/json'],
  skills: agent.skills,
});
const pushStore = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  new Executor(),
  undefined,
  pushStore,
  new DefaultPushNotificationSender(pushStore),
  card,
);
const common = { legacyCompat: { enabled: true } };
const handling = { requestHandler, userBuilder: UserBuilder.noAuthentication };
const app = express();
app.use(
  '/.well-known/agent-card.json',
  agentCardHandler({ ...common, agentCardProvider: requestHandler }),
);
app.use('/rest', restHandler({ ...common, ...handling }));
app.use('/', jsonRpcHandler({ ...common, ...handling }));
createServer(app).listen(port, () => console.log(`Official SDK, profile ${profile}: ${url}`));
const grpcServer = new Server();
grpcServer.addService(A2AService, grpcService(handling));
grpcServer.addService(LegacyA2AService, legacyGrpcService(handling));
grpcServer.bindAsync(`localhost:${grpcPort}`, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
});
