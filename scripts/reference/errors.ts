import { type ErrorCode, errorTable } from '../../src/protocol/index.ts';

/** When each error comes, and what helps. */
const meanings: Readonly<Record<ErrorCode, readonly [string, string]>> = {
  TASK_NOT_FOUND: [
    'The task does not exist, or belongs to another caller',
    'Check the task id and the credentials',
  ],
  TASK_NOT_CANCELABLE: ['The task has ended', 'Nothing to do'],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [
    'The agent sends no webhooks',
    'Subscribe to the task, or configure `push`',
  ],
  UNSUPPORTED_OPERATION: [
    'The agent does not support the operation, or not for a task in this state',
    'Check the capabilities in its card',
  ],
  CONTENT_TYPE_NOT_SUPPORTED: [
    'The agent does not support the media type of a part, or the accepted output modes',
    'Check the modes in its card',
  ],
  INVALID_AGENT_RESPONSE: [
    'The agent returned an invalid response',
    'Fix the agent; the log has the details',
  ],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: ['The agent has no extended card', 'Read the public card'],
  EXTENSION_SUPPORT_REQUIRED: ['The agent requires an extension', 'Add it to `A2A-Extensions`'],
  VERSION_NOT_SUPPORTED: [
    'The agent does not support the requested protocol version',
    'Use one of the interfaces in the card',
  ],
  PARSE_ERROR: ['The request is not JSON', ''],
  INVALID_REQUEST: ['The JSON is not a valid request', ''],
  METHOD_NOT_FOUND: ['The method does not exist', ''],
  INVALID_PARAMS: ['Fields of the request are invalid; the error names each', ''],
  INTERNAL: [
    'An internal error of the server; the response has no details',
    'Search the server log for `http.internal_error`',
  ],
  MESSAGE_IN_FLIGHT: [
    'The same message is in flight',
    'Retry after `Retry-After`, or subscribe to its task',
  ],
  MESSAGE_ID_REUSED: [
    'The message id was used before, with other content',
    'Use a unique id for each message',
  ],
  UNAUTHENTICATED: [
    'The credentials are missing or invalid',
    'See `WWW-Authenticate` and the schemes in the card',
  ],
  PERMISSION_DENIED: ['The caller lacks a permission', 'Request the scope named in the error'],
  RATE_LIMITED: ['The caller exceeded a limit', 'Retry after `Retry-After`'],
  UNAVAILABLE: ['The server or a dependency is temporarily unavailable', 'Retry'],
  PAYLOAD_TOO_LARGE: ['The body is larger than `limits.maxBodyBytes`', 'Send files by URL'],
  UNSUPPORTED_ENCODING: ['The content encoding is not supported', 'Send the body uncompressed'],
  ROUTE_NOT_FOUND: ['The path does not exist', ''],
  METHOD_NOT_ALLOWED: ['The path does not support this HTTP method', 'See `Allow`'],
  REQUEST_TIMEOUT: ['The request timed out', ''],
  CONTEXT_TOO_LONG: ["The prompt exceeds the language model's context window", ''],
  CONFIGURATION_INVALID: [
    'A file, an option or a flag is invalid; the message says which, and how to fix it',
    '',
  ],
  STORE_FAILED: ['The store is unreachable, or refused a write', 'Check the database'],
  STORE_VERSION: [
    'The schema has another version',
    'Run `legate db migrate`, or install a newer Legate',
  ],
  PEER_UNREACHABLE: ['Another agent is unreachable', ''],
  PEER_INVALID: ['The response of another agent is not valid A2A', ''],
};

export function errorsPage(): string {
  const rows = (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const { jsonRpc, http, grpc, exit, ...rest } = errorTable[code];
    const older = 'v100' in rest ? (rest.v100 as { http?: number; grpc?: string }) : {};
    const status = older.http === undefined ? `${http}` : `${http} (1.0.0: ${older.http})`;
    const name = older.grpc === undefined ? grpc : `${grpc} (1.0.0: ${older.grpc})`;
    const [when, remedy] = meanings[code];
    const types = [code.toLowerCase(), ...('errorTypes' in rest ? rest.errorTypes : [])];
    const failed = types.map((type) => `\`${type}\``).join(', ');
    return `| \`${code}\` | ${jsonRpc} | ${status} | ${name} | ${exit} | ${failed} | ${when} | ${remedy} |`;
  });
  return [
    '# Errors',
    'Every error is a `LegateError` with a stable `code`, and maps to a status of each binding. `errorProfile` selects the statuses of specification 1.0.0 where they differ. The last number is the exit code of the `legate` command. A task that failed names its reason in `error_type`; `client.ask` rejects with the code of that row, and with `INTERNAL` for other types.',
    [
      '| code | JSON-RPC | HTTP | gRPC | exit | `error_type` | cause | fix |',
      '|---|---|---|---|---|---|---|---|',
      ...rows,
    ].join('\n'),
  ].join('\n\n');
}
