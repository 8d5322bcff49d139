import { type ErrorCode, errorTable } from '../../src/protocol/index.ts';

/** The cause of each error, and its fix. */
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
  PARSE_ERROR: ['The request is not JSON', 'Send a JSON body'],
  INVALID_REQUEST: ['The JSON is not a valid request', 'Send a JSON-RPC 2.0 request object'],
  METHOD_NOT_FOUND: [
    'The method does not exist',
    'Check its name: 1.0 and 0.3 name methods differently',
  ],
  INVALID_PARAMS: ['Fields of the request are invalid', 'Fix the fields that the error names'],
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
  ROUTE_NOT_FOUND: ['The path does not exist', 'Use the URL of an interface in the card'],
  METHOD_NOT_ALLOWED: ['The path does not support this HTTP method', 'See `Allow`'],
  REQUEST_TIMEOUT: ['The request timed out', 'Retry, or raise the timeout'],
  CONTEXT_TOO_LONG: [
    "The prompt exceeds the language model's context window",
    'Shorten the message, or set `compaction`',
  ],
  CONFIGURATION_INVALID: [
    'A file, an option or a flag is invalid',
    'The message says which, and how to fix it',
  ],
  STORE_FAILED: ['The store is unreachable, or refused a write', 'Check the database'],
  STORE_VERSION: [
    'The schema has another version',
    'Run `legate db migrate`, or install a newer Legate',
  ],
  PEER_UNREACHABLE: ['Another agent is unreachable', 'Check its URL, and that it is running'],
  PEER_INVALID: [
    'The response of another agent is not valid A2A',
    'See what is invalid with `legate check <URL>`',
  ],
};

export function errorsPage(): string {
  const codes = Object.keys(errorTable) as ErrorCode[];
  const rows = codes.map((code) => {
    const { jsonRpc, http, grpc, exit } = errorTable[code];
    return `| [\`${code}\`](#${code.toLowerCase()}) | ${jsonRpc} | ${http} | ${grpc} | ${exit} |`;
  });
  return [
    '# Errors',
    'Every error is a `LegateError` with a stable `code`, and maps to a status of each binding. The last number is the exit code of the `legate` command.',
    ['| code | JSON-RPC | HTTP | gRPC | exit |', '|---|---|---|---|---|', ...rows].join('\n'),
    'A task that failed names its reason in `error_type`; `client.ask` rejects with the code of that reason, and with `INTERNAL` for other reasons.',
    ...codes.flatMap(sectionOf),
  ].join('\n\n');
}

function sectionOf(code: ErrorCode): readonly string[] {
  const { jsonRpc: _jsonRpc, http: _http, grpc: _grpc, exit: _exit, ...rest } = errorTable[code];
  const [cause, fix] = meanings[code];
  const types = [code.toLowerCase(), ...('errorTypes' in rest ? rest.errorTypes : [])];
  const older = 'v100' in rest ? (rest.v100 as { http?: number; grpc?: string }) : {};
  const statuses = [
    older.http === undefined ? '' : `HTTP ${older.http}`,
    older.grpc === undefined ? '' : `gRPC ${older.grpc}`,
  ].filter((status) => status !== '');
  return [
    `## ${code}`,
    `${cause}. ${fix}.`,
    `\`error_type\`: ${types.map((type) => `\`${type}\``).join(', ')}`,
    ...(statuses.length === 0 ? [] : [`With \`errorProfile: '1.0.0'\`: ${statuses.join(', ')}`]),
  ];
}
