import { type ErrorCode, errorMessage, errorTable, LegateError } from '../../protocol/index.ts';
import { systemFailure } from '../system-failure.ts';

/** Failures of the command itself, by the A2A CLI specification, appendix D, with their exit codes. */
const localCodes = {
  A2ACLI_ERR_USAGE: 2,
  A2ACLI_ERR_CARD_NOT_FOUND: 3,
  A2ACLI_ERR_CARD_INVALID: 1,
  A2ACLI_ERR_UNREACHABLE: 3,
  A2ACLI_ERR_CREDENTIALS_MISSING: 4,
  A2ACLI_ERR_AUTH_FAILED: 4,
  A2ACLI_ERR_TIMEOUT: 5,
  A2ACLI_ERR_INTERNAL: 1,
} as const;
export type LocalCode = keyof typeof localCodes;

/** The report of a failure (appendix B), and the exit code. */
export interface FailureReport {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly a2aCode: number | null;
  readonly exit: number;
}

/** A failure without a name in the protocol. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly code: LocalCode;
  readonly hint: string | null;

  constructor(
    code: LocalCode,
    message: string,
    { hint = null, cause }: { readonly hint?: string | null; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.hint = hint;
  }
}

const localNames: Partial<Record<ErrorCode, LocalCode>> = {
  CONFIGURATION_INVALID: 'A2ACLI_ERR_USAGE',
  PEER_UNREACHABLE: 'A2ACLI_ERR_UNREACHABLE',
  UNAVAILABLE: 'A2ACLI_ERR_UNREACHABLE',
  REQUEST_TIMEOUT: 'A2ACLI_ERR_TIMEOUT',
};

/** The names of errors in A2A 3.3.2 and JSON-RPC. */
const protocolNames: Partial<Record<ErrorCode, string>> = {
  TASK_NOT_FOUND: 'TaskNotFoundError',
  TASK_NOT_CANCELABLE: 'TaskNotCancelableError',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'PushNotificationNotSupportedError',
  UNSUPPORTED_OPERATION: 'UnsupportedOperationError',
  CONTENT_TYPE_NOT_SUPPORTED: 'ContentTypeNotSupportedError',
  INVALID_AGENT_RESPONSE: 'InvalidAgentResponseError',
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: 'ExtendedAgentCardNotConfiguredError',
  EXTENSION_SUPPORT_REQUIRED: 'ExtensionSupportRequiredError',
  VERSION_NOT_SUPPORTED: 'VersionNotSupportedError',
  PARSE_ERROR: 'JSONParseError',
  INVALID_REQUEST: 'InvalidRequestError',
  METHOD_NOT_FOUND: 'MethodNotFoundError',
  INVALID_PARAMS: 'InvalidParamsError',
  INTERNAL: 'InternalError',
};

/** The context that decides about the hint. */
export interface FailureCircumstances {
  readonly hasCredentials: boolean;
  /** The security schemes of the card. */
  readonly schemes: readonly DeclaredScheme[];
  /** For commands in hints: `-a <agent>`. */
  readonly agentFlag?: string;
}

/** A security scheme of a card. */
export interface DeclaredScheme {
  readonly name: string;
  /** As in the card: `oauth2SecurityScheme`. */
  readonly kind: string;
}

export function describeFailure(
  error: unknown,
  circumstances: FailureCircumstances,
): FailureReport {
  if (error instanceof CommandFailure) return local(error.code, error.message, error.hint);
  if (!(error instanceof LegateError)) {
    const refusal = systemFailure(error);
    if (refusal !== undefined) return local('A2ACLI_ERR_INTERNAL', refusal, null);
    const message = errorMessage(error);
    return local('A2ACLI_ERR_INTERNAL', message, 'run it again with --debug');
  }
  const { code, message } = error;
  if (code === 'UNAUTHENTICATED' || code === 'PERMISSION_DENIED') {
    const name = circumstances.hasCredentials
      ? 'A2ACLI_ERR_AUTH_FAILED'
      : 'A2ACLI_ERR_CREDENTIALS_MISSING';
    return local(name, message, credentialsHint(circumstances));
  }
  const name = localNames[code];
  if (name !== undefined) return local(name, message, hintFor(code, message));
  const protocolName = protocolNames[code];
  const { jsonRpc, exit } = errorTable[code];
  return {
    code: protocolName ?? `LEGATE_${code}`,
    message,
    hint: hints[code] ?? null,
    a2aCode: protocolName === undefined ? null : jsonRpc,
    exit,
  };
}

function local(code: LocalCode, message: string, hint: string | null): FailureReport {
  return { code, message, hint, a2aCode: null, exit: localCodes[code] };
}

const hints: Partial<Record<ErrorCode, string>> = {
  TASK_NOT_FOUND: 'check the id; see the messages with --debug, and your tasks with "legate list"',
  UNSUPPORTED_OPERATION: 'see the answer with --debug, and the capabilities with "legate card"',
  INVALID_PARAMS: 'see the request with --debug',
  VERSION_NOT_SUPPORTED:
    'leave --a2a-version out, or call agents that support only 0.3 with --a2a-version 0.3',
  EXTENSION_SUPPORT_REQUIRED: 'request the extension with --extension <uri>',
  PEER_UNREACHABLE: 'check the address; see the requests with --debug',
  UNAVAILABLE: 'try again later',
  REQUEST_TIMEOUT: 'allow more time with --timeout, or do not wait with --async',
};

function credentialsHint({ hasCredentials, schemes, agentFlag }: FailureCircumstances): string {
  const names = schemes.map(({ name }) => name).join(', ');
  const declared = names === '' ? '' : `; its card declares ${names}`;
  if (hasCredentials) return `the agent refuses these credentials${declared}`;
  const ways = ['set A2ACLI_BEARER or A2ACLI_API_KEY'];
  const has = (kind: RegExp): boolean => schemes.some((scheme) => kind.test(scheme.kind));
  if (has(/^(?:oauth2|openIdConnect)/)) ways.push(`run "legate auth login ${agentFlag ?? ''}"`);
  if (has(/^mtls/)) ways.push('give a client certificate with --cert and --key');
  return `${ways.join(', or ')}${declared}`;
}

/** Error codes of TLS connections, and the flag that fixes each. */
const tlsHints: readonly (readonly [RegExp, string])[] = [
  [
    /certificate required|handshake failure|bad certificate|unknown ca/i,
    'the agent requires a client certificate that it trusts: give it with --cert and --key',
  ],
  [
    /\bhttps:.*(?:ECONNRESET|socket hang up)/,
    'check the address; if the agent requires a client certificate, give it with --cert and --key',
  ],
  [
    /self.signed certificate|unable to (?:get|verify)/i,
    'give the certificate authority of the agent with --ca',
  ],
];

function hintFor(code: ErrorCode, message: string): string | null {
  const [, ofTls] = tlsHints.find(([pattern]) => pattern.test(message)) ?? [];
  return (code === 'PEER_UNREACHABLE' ? ofTls : undefined) ?? hints[code] ?? null;
}
