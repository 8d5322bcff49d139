import { z } from 'zod';
import { chooseInterface } from '../../client/index.ts';
import { type AgentCard, LegateError, sseFrame, toPublicError } from '../../protocol/index.ts';
import { closeSignal } from '../request.ts';
import { drained } from '../sse.ts';
import { type ApiCall, bodyOf, type Inspection, type Routes } from './inspection.ts';

/** Calls over bindings that browsers don't support: the page sends JSON, and the server calls the agent. */
export const bindingRoutes: Routes = [['POST', 'grpc', callOverGrpc]];

const unary = [
  'sendMessage',
  'getTask',
  'listTasks',
  'cancelTask',
  'getExtendedAgentCard',
  'createTaskPushNotificationConfig',
  'getTaskPushNotificationConfig',
  'listTaskPushNotificationConfigs',
  'deleteTaskPushNotificationConfig',
] as const;
const streaming = ['sendStreamingMessage', 'subscribeToTask'] as const;
const isStreaming = (name: string): name is (typeof streaming)[number] =>
  streaming.some((one) => one === name);

/** Maximum size of one message in bytes, the same as in `connect`. */
const maxMessage = 16 * 1024 * 1024;

const grpcCall = z.object({
  /** The URL of an interface of the card. */
  url: z.string(),
  version: z.enum(['1.0', '0.3']),
  operation: z.enum([...unary, ...streaming]),
  request: z.json(),
  headers: z.record(z.string(), z.string()),
});

/** Sends server-sent events: a `data` frame for each message of the agent, and an `error` on failure. */
async function callOverGrpc(inspection: Inspection, call: ApiCall): Promise<void> {
  const { proxy, bindings } = inspection;
  const [binding] = (await bindings?.()) ?? [];
  if (proxy === undefined || binding === undefined) {
    throw new LegateError(
      'UNSUPPORTED_OPERATION',
      'the inspector does not speak gRPC here; start it with legate inspect or legate run --inspect',
    );
  }
  const { operation, request, headers, ...offer } = await bodyOf(call, grpcCall);
  const chosen = chooseInterface(cardOf(offer), { bindings: [binding], binding: 'GRPC' });
  const prepared = await proxy.prepareDirect(chosen.url, headers, call.request);
  const options = { headers: prepared, signal: closeSignal(call.response) };
  call.response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-content-type-options': 'nosniff',
  });
  call.response.flushHeaders();
  const send = (value: unknown): Promise<void> => {
    call.response.write(sseFrame({ data: JSON.stringify(value ?? {}) }));
    return drained(call.response);
  };
  const channel = binding.open(chosen, { maxBodySize: maxMessage, maxEventSize: maxMessage });
  try {
    if (isStreaming(operation)) {
      for await (const value of await channel.stream(operation, request, options))
        await send(value);
    } else await send(await channel.call(operation, request, options));
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    const { code, message } = toPublicError(error);
    call.response.write(`event: error\n${sseFrame({ data: JSON.stringify({ code, message }) })}`);
  } finally {
    channel.close();
    call.response.end();
  }
}

/** A card that contains only the interface to call. */
function cardOf(offer: { readonly url: string; readonly version: string }): AgentCard {
  return {
    name: offer.url,
    description: '',
    version: '',
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
    supportedInterfaces: [
      { url: offer.url, protocolBinding: 'GRPC', protocolVersion: offer.version },
    ],
  };
}
