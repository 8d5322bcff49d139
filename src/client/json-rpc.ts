import { fromJsonRpcError, isJsonObject, operations, parseJsonOr } from '../protocol/index.ts';
import type { HttpFormat } from './http-transport.ts';

/**
 * JSON-RPC 2.0 over HTTP, in either version. All operations share a URL; the method names the operation.
 */
export function jsonRpcFormat(url: URL, version: '1.0' | '0.3'): HttpFormat {
  return {
    accept: 'application/json',
    expected: 'a JSON-RPC response',
    request: (operation, _, encode) => ({
      method: 'POST',
      url,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: crypto.randomUUID(),
        method: operations[operation][version === '1.0' ? 'v1' : 'v03'],
        params: encode(),
      }),
    }),
    /** One HTTP exchange has one response, so its id is not compared. */
    read(text) {
      const json = parseJsonOr(text, undefined);
      if (!isJsonObject(json)) return undefined;
      if (isJsonObject(json.error)) return { error: fromJsonRpcError(json.error) };
      return 'result' in json ? { result: json.result } : undefined;
    },
  };
}
