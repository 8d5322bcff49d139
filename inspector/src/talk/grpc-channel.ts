import type {
  BindingCall,
  CallOperation,
  ChosenInterface,
  ClientBinding,
  StreamOperation,
} from '../../../src/client/index.ts';
import { LegateError } from '../../../src/protocol/index.ts';
import { eventsOf, jsonOf, reasonOf, request } from '../api/api.ts';
import type { WireLog } from '../wire/wire-log.ts';

/**
 * gRPC for the page: the server makes the calls and responds in JSON. Recorded like every other request.
 */
export function grpcThroughServer(log: WireLog): ClientBinding {
  return {
    binding: 'GRPC',
    locate,
    open: (chosen) => ({
      async call(operation, json, call) {
        for await (const value of exchange(log, chosen, operation, json, call)) return value;
        throw new LegateError('PEER_INVALID', 'the agent sent no answer');
      },
      stream: async (operation, json, call) => exchange(log, chosen, operation, json, call),
      close: () => {},
    }),
  };
}

/**
 * Reads `host:port`, a gRPC target, or a URL. Without a scheme, only this machine is called without TLS.
 */
function locate(address: string): URL | undefined {
  const isUrl = /^https?:\/\//i.test(address);
  const host = address.replace(/^(?:dns|ipv4|ipv6):\/*/i, '');
  const isLocal = /^(?:localhost|127\.|\[::1\])/i.test(host);
  return URL.parse(isUrl ? address : `${isLocal ? 'http' : 'https'}://${host}`) ?? undefined;
}

async function* exchange(
  log: WireLog,
  chosen: ChosenInterface,
  operation: CallOperation | StreamOperation,
  json: unknown,
  { headers, signal }: BindingCall,
): AsyncGenerator {
  const { version, interface: offered } = chosen;
  const recorded = log.start(
    {
      method: 'gRPC',
      url: `${chosen.url.href}${operation}`,
      requestHeaders: log.cleanHeaders(headers),
      requestBody: JSON.stringify(json),
    },
    { operation, version, binding: 'GRPC' },
  );
  recorded.isStream = operation === 'sendStreamingMessage' || operation === 'subscribeToTask';
  let problem: string | undefined;
  try {
    const { body } = await request('grpc', {
      method: 'POST',
      signal: signal ?? null,
      body: JSON.stringify({
        url: offered.url,
        version,
        operation,
        request: json,
        headers: Object.fromEntries(headers),
      }),
    });
    for await (const { event, data } of eventsOf(body)) {
      if (event === 'error') {
        const { code, message } = jsonOf<{ code: LegateError['code']; message: string }>(data);
        throw new LegateError(code, message);
      }
      if (data === '') continue;
      log.add(recorded, data);
      yield jsonOf<unknown>(data);
    }
  } catch (error) {
    problem = reasonOf(error);
    throw error;
  } finally {
    // A reader that needs only the first response leaves early.
    log.end(recorded, problem);
  }
}
