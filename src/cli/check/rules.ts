/** Editions of the A2A specification that checks refer to. */
export type Edition = '1.0.1' | '0.3.0';

/** The sentence of the specification that a check refers to. */
export interface Rule {
  readonly section: string;
  /** Word for word, without its markup. */
  readonly text: string;
  /** Whether it is a requirement, not a recommendation. @default true */
  readonly isMust?: boolean;
}

export type Rules = { readonly [edition in Edition]?: Rule };

function must(section: string, text: string): Rule {
  return { section, text };
}

function should(section: string, text: string): Rule {
  return { section, text, isMust: false };
}

const errorCodes = 'Error handling: MUST use the error codes defined in Section 8.';
const notFound =
  'Servers MUST return a not found error when a requested resource does not exist or is not accessible to the authenticated client';
const validates = 'Servers MUST validate all input parameters before processing';
const invalidParams =
  'The params provided for the method are invalid (e.g., wrong type, missing required field).';
const required =
  'Fields marked with [(google.api.field_behavior) = REQUIRED] indicate that the field MUST be present and set in valid messages.';
const objects =
  'A2A data objects: MUST use the data structures defined in Section 6 for all protocol entities.';
const encrypted =
  'Production deployments MUST use encrypted communication (HTTPS for HTTP-based bindings, TLS for gRPC).';
const taskStream =
  'If the agent returns a Task, the stream MUST begin with the Task object, followed by zero or more TaskStatusUpdateEvent or TaskArtifactUpdateEvent objects.';

/**
 * The rule of each check, by edition. A check fails only if its rule is a requirement. It warns if its rule
 * is a recommendation, or if it has no rule and tests common practice.
 */
export const rules = {
  'card.found': {
    '1.0.1': must('8.1', 'A2A Servers MUST make an Agent Card available.'),
    '0.3.0': must('5.1', 'A2A Servers MUST make an Agent Card available.'),
  },
  'card.media-type': {},
  'card.readable': {
    '1.0.1': must('5.7', required),
    '0.3.0': must(
      '11.1.1',
      'Expose Agent Card: MUST provide a valid AgentCard document as defined in Section 5.',
    ),
  },
  'card.unversioned': {},
  'card.public-fields': {
    '1.0.1': should(
      '14.3',
      "The Agent Card MAY contain public information about an agent's capabilities and SHOULD NOT include sensitive credentials or internal implementation details",
    ),
  },
  'card.signature': {},
  'card.valid': {
    '1.0.1': must(
      '5.7',
      `${required} Implementations SHOULD validate these requirements and reject messages with missing required fields. Arrays marked as required MUST contain at least one element.`,
    ),
    '0.3.0': must(
      '11.1.1',
      'Expose Agent Card: MUST provide a valid AgentCard document as defined in Section 5.',
    ),
  },
  'caching.max-age': {
    '1.0.1': should(
      '8.6.1',
      "Agent Card HTTP endpoints SHOULD include a Cache-Control response header with a max-age directive appropriate for the agent's expected update frequency",
    ),
  },
  'caching.etag': {
    '1.0.1': should(
      '8.6.1',
      "Agent Card HTTP endpoints SHOULD include an ETag response header derived from the Agent Card's version field or a hash of the card content",
    ),
  },
  'caching.last-modified': {
    '1.0.1': should(
      '8.6.1',
      'Agent Card HTTP endpoints MAY include a Last-Modified response header',
    ),
  },
  'caching.not-modified': {},
  'operations.send': {
    '1.0.1': must(
      '3.1.1',
      'The operation MUST return immediately with either task information or response message.',
    ),
    '0.3.0': must('11.1.5', objects),
  },
  'operations.envelope': {
    '1.0.1': must('9.1', 'Protocol: JSON-RPC 2.0 over HTTP(S)'),
    '0.3.0': must(
      '6.11.2',
      'It MUST be the same as the value of the id member in the Request Object.',
    ),
  },
  'operations.get': {
    '1.0.1': must('3.1.3', 'Task: Current state and artifacts of the requested task'),
    '0.3.0': must('11.1.5', objects),
  },
  'operations.history-length': {
    '1.0.1': should(
      '3.2.4',
      '0: No history should be returned; the history field SHOULD be omitted',
    ),
  },
  'operations.list': {
    '1.0.1': must(
      '3.1',
      'The following operations define the fundamental capabilities that all A2A implementations must support, independent of the specific protocol binding used.',
    ),
  },
  'operations.list-fields': { '1.0.1': must('5.7', required) },
  'streaming.opens': {
    '1.0.1': must(
      '3.1.2',
      'The operation MUST establish a streaming connection for real-time updates.',
    ),
    '0.3.0': must(
      '7',
      "The A2A Server's HTTP response body MUST be a JSONRPCResponse object (or, for streaming methods, an SSE stream where each event's data is a JSONRPCResponse).",
    ),
  },
  'streaming.events': {
    '1.0.1': must('5.7', required),
    '0.3.0': must('11.1.5', objects),
  },
  'streaming.first': { '1.0.1': must('3.1.2', taskStream) },
  'streaming.one-task': {},
  'streaming.ends': {
    '1.0.1': must(
      '3.1.2',
      'The stream MUST close when the task reaches a terminal state (TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED).',
    ),
  },
  'streaming.single-line': {},
  'streaming.not-cached': {},
  'streaming.unknown-task': {
    '1.0.1': must('3.3.2', notFound),
    '0.3.0': must('11.1.5', errorCodes),
  },
  'streaming.refused-early': {},
  'streaming.terminal': {
    '1.0.1': must(
      '3.1.6',
      'UnsupportedOperationError: The operation is attempted on a task that is in a terminal state (TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED).',
    ),
  },
  'streaming.undeclared': {
    '1.0.1': must(
      '3.3.4',
      'Streaming: If AgentCard.capabilities.streaming is false or not present, attempts to use SendStreamingMessage or SubscribeToTask operations MUST return UnsupportedOperationError.',
    ),
  },
  'errors.unknown-task': {
    '1.0.1': must('3.3.2', notFound),
    '0.3.0': must('11.1.5', errorCodes),
  },
  'errors.cancel-unknown': {
    '1.0.1': must('3.3.2', notFound),
    '0.3.0': must('11.1.5', errorCodes),
  },
  'errors.cancel-ended': {
    '1.0.1': must(
      '3.1.5',
      'TaskNotCancelableError: The task is not in a cancelable state (e.g., already completed, failed, or canceled).',
    ),
    '0.3.0': must('11.1.5', errorCodes),
  },
  'errors.details': {
    '1.0.1': should(
      '9.5',
      'Implementations SHOULD use well-known types such as google.rpc.ErrorInfo to refine error reporting, or google.rpc.BadRequest to attach structured data to validation errors.',
    ),
  },
  'errors.rest-details': {
    '1.0.1': must(
      '11.6',
      'implementations MUST include a google.rpc.ErrorInfo object in the details array for A2A-specific errors',
    ),
  },
  'errors.no-message': {
    '1.0.1': must('3.3.2', validates),
    '0.3.0': must('8.1', invalidParams),
  },
  'errors.empty-parts': {
    '1.0.1': should(
      '5.7',
      'Implementations SHOULD validate these requirements and reject messages with missing required fields. Arrays marked as required MUST contain at least one element.',
    ),
  },
  'errors.json': {
    '1.0.1': must('9.5', 'The server received invalid JSON'),
    '0.3.0': must('8.1', 'Server received JSON that was not well-formed.'),
  },
  'errors.unknown-method': {
    '1.0.1': must('9.5', 'The requested method does not exist or is not available'),
    '0.3.0': must('11.1.5', errorCodes),
  },
  'errors.not-json-rpc': {
    '1.0.1': must('9.5', 'The JSON sent is not a valid Request object'),
    '0.3.0': must(
      '8.1',
      'The JSON payload was valid JSON, but not a valid JSON-RPC Request object.',
    ),
  },
  'errors.batch': {},
  'errors.content-type': {},
  'errors.version': {
    '1.0.1': must(
      '3.6.2',
      'If the version is not supported by the interface, agents MUST return a VersionNotSupportedError.',
    ),
  },
  'errors.patch-version': {
    '1.0.1': must(
      '3.6',
      'Patch version numbers SHOULD NOT be used in requests, responses and Agent Cards, and MUST not be considered when clients and servers negotiate protocol versions.',
    ),
  },
  'errors.unknown-path': {},
  'security.tls': {
    '1.0.1': must('7.1', encrypted),
    '0.3.0': must('4.1', 'As stated in section 3.1, production deployments MUST use HTTPS.'),
  },
  'security.credentials-demanded': {
    '1.0.1': must(
      '7.4',
      'MUST authenticate every incoming request based on the provided credentials and its declared authentication requirements.',
    ),
    '0.3.0': must(
      '4.4',
      'MUST authenticate every incoming request based on the provided HTTP credentials and its declared authentication requirements from its Agent Card.',
    ),
  },
  'security.challenge': {
    '1.0.1': should(
      '7.4',
      'SHOULD provide relevant authentication challenge information with error responses.',
    ),
    '0.3.0': should(
      '4.4',
      'SHOULD include relevant HTTP headers (e.g., WWW-Authenticate) with 401 Unauthorized responses to indicate the required authentication scheme(s), guiding the client.',
    ),
  },
  'security.wrong-credentials': {
    '1.0.1': must(
      '3.3.2',
      'Servers MUST reject requests with invalid or missing authentication credentials',
    ),
    '0.3.0': must('10.2', 'A2A Servers MUST authenticate every request.'),
  },
  'security.open': {},
  'security.cross-origin': {},
  'security.large-body': {},
  'security.no-traces': {},
  'security.json-errors': {},
  'security.nosniff': {},
  'security.banner': {},
} as const satisfies Readonly<Record<string, Rules>>;

export type CheckId = keyof typeof rules;
