import { type ErrorCode, errorTable } from '../../src/protocol/index.ts';

/** When each error comes, and what helps. */
const meanings: Readonly<Record<ErrorCode, readonly [string, string]>> = {
  TASK_NOT_FOUND: [
    'There is no such task, or it belongs to somebody else',
    'Look at the id and at who calls',
  ],
  TASK_NOT_CANCELABLE: ['The task has ended', 'Nothing to do'],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [
    'The agent sends no webhooks',
    'Follow the task by a stream, or configure `push`',
  ],
  UNSUPPORTED_OPERATION: [
    'The agent does not do that, or not to a task in this state',
    'Look at the capabilities of its card',
  ],
  CONTENT_TYPE_NOT_SUPPORTED: [
    'A part, or what is accepted as an answer, is of a kind that the agent does not have',
    'Look at the modes of its card',
  ],
  INVALID_AGENT_RESPONSE: [
    'What the agent made is not a valid answer',
    'Fix the agent; the log has the details',
  ],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: ['There is no extended card', 'Read the public one'],
  EXTENSION_SUPPORT_REQUIRED: [
    'The agent takes no messages without an extension',
    'Name it in `A2A-Extensions`',
  ],
  VERSION_NOT_SUPPORTED: [
    'The version asked for is not spoken here',
    'Use one of the interfaces of the card',
  ],
  PARSE_ERROR: ['The request is not JSON', ''],
  INVALID_REQUEST: ['It is JSON, but no request', ''],
  METHOD_NOT_FOUND: ['There is no such method', ''],
  INVALID_PARAMS: ['Fields of the request are wrong; each is named', ''],
  INTERNAL: [
    'A fault of the server; nothing of it is shown',
    'Look for `http.internal_error` in its log',
  ],
  MESSAGE_IN_FLIGHT: [
    'The same message is being worked on right now',
    'Wait for its answer, or follow its task',
  ],
  MESSAGE_ID_REUSED: [
    'The message id was used before, for another content',
    'Give each message an id of its own',
  ],
  UNAUTHENTICATED: [
    'The credentials are missing or not valid',
    'See `WWW-Authenticate` and the schemes of the card',
  ],
  PERMISSION_DENIED: ['The caller may not do that', 'Ask for the scope that the answer names'],
  RATE_LIMITED: ['Too much at a time', 'Come back after `Retry-After`'],
  UNAVAILABLE: ['Not now: the server starts, stops, or waits for something', 'Try again'],
  PAYLOAD_TOO_LARGE: [
    'The body is larger than `limits.maxBodyBytes`',
    'Send files by their address',
  ],
  UNSUPPORTED_ENCODING: ['The body is compressed in a way that is not read', 'Send it plain'],
  ROUTE_NOT_FOUND: ['There is nothing at this path', ''],
  METHOD_NOT_ALLOWED: ['Not with this HTTP method', 'See `Allow`'],
  REQUEST_TIMEOUT: ['It took too long', ''],
  CONTEXT_TOO_LONG: ['A language model was asked more than it can read at once', ''],
  CONFIGURATION_INVALID: [
    'A file, an option or a flag is wrong; the message says which and what would be right',
    '',
  ],
  STORE_FAILED: ['The store does not answer, or refused a write', 'Look at the database'],
  STORE_VERSION: ['The tables are of another version', '`legate db migrate`, or a newer Legate'],
  PEER_UNREACHABLE: ['Another agent could not be reached', ''],
  PEER_INVALID: ['What another agent said is not A2A', ''],
};

export function errorsPage(): string {
  const rows = (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const { jsonRpc, http, grpc, exit, ...rest } = errorTable[code];
    const older = 'v100' in rest ? (rest.v100 as { http?: number; grpc?: string }) : {};
    const status = older.http === undefined ? `${http}` : `${http} (1.0.0: ${older.http})`;
    const name = older.grpc === undefined ? grpc : `${grpc} (1.0.0: ${older.grpc})`;
    const [when, remedy] = meanings[code];
    return `| \`${code}\` | ${jsonRpc} | ${status} | ${name} | ${exit} | ${when} | ${remedy} |`;
  });
  return [
    '# Errors',
    'Every error is a `LegateError` with a stable `code`; on each wire it has the number of that wire. The statuses of specification 1.0.0, where they differ, come with `errorProfile`. The last number is the exit code of the `legate` command.',
    [
      '| code | JSON-RPC | HTTP | gRPC | exit | when | what helps |',
      '|---|---|---|---|---|---|---|',
      ...rows,
    ].join('\n'),
  ].join('\n\n');
}
