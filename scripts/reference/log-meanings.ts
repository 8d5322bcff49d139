/** The meanings of all log events; a test compares them with the code. */
export const logMeanings: Readonly<Record<string, string>> = {
  'a2a_server.rasa_a2a_agent_executor.execute.agent_not_ready':
    'No model is loaded; the turn failed with `agent_not_ready`',
  'a2a_server.rasa_a2a_agent_executor.execute.context_limit':
    '`tasks.context_limit` of an assistant',
  'a2a_server.rasa_a2a_agent_executor.task_timeout': '`tasks.turn.timeout` of an assistant',
  'a2a_server.sanic_app.message_in_flight_conflict': '`tasks.message.in_flight` of an assistant',
  'a2a_server.sanic_app.auth_rejected': '`audit.unauthenticated` of an assistant',
  'a2a_server.message_adapter.skip_slot.invalid_value':
    'A slot of the orchestrator does not fit its type and was left out',
  'a2a_server.sanic_app.stream_sse.error': '`http.stream.failed` of an assistant',
  'action.event.ignored': 'An action server sent an event that is not known here',
  'action.server.actions_missing':
    'Actions of the domain that the Python action server does not have',
  'action.server.connect_failed': 'The action server is unreachable; the call is retried',
  'action.server.exited': 'The Python action server exited; Legate restarts it',
  'action.server.log': 'A log line of the Python action server, at its own level',
  'action.server.ready': 'The Python action server answers',
  'action.server.replaced':
    'Nothing answers at `action_endpoint.url`: the Python actions of the project run here until a server does',
  'action.server.unreachable':
    'Nothing answers at `action_endpoint.url`, and this machine can not run the Python actions of the project',
  'action.slot.invalid':
    'An action set a categorical slot to a value that it does not have; the slot keeps its value',
  'action.slot.unexpected_type':
    'An action set a slot to a value of another type than its own; the slot holds it',
  'action.slot.unknown': 'An action set a slot that the domain does not have',
  'agents.agent.failed': 'An agent threw; the caller gets no details',
  'agents.model.history_cut':
    'A prompt was longer than the model can read: older turns of the conversation were left out',
  'agents.model.empty': 'A language model ended its answer without text and without calling a tool',
  'agents.turn.failed':
    'An LLM agent failed although its model answered: a limit was reached, or the answer was refused or invalid (`errorType`)',
  'agents.model.truncated':
    'A language model stopped at its limit of output tokens, or at a content filter: the answer is cut (`finish_reason`)',
  'agents.model.failed': 'A language model did not answer, after all attempts',
  'agents.remote.failed': 'The connection to a remote agent was lost',
  'agents.remote.unreachable': 'A remote agent could not be reached',
  'agents.tool.failed': 'A tool threw; the model gets the error',
  'agents.compaction.failed':
    'Earlier turns of a conversation could not be summarised; they were left out',
  'agents.steps.write_failed':
    'Steps for the inspector could not be stored; the turn continues without them',
  'agents.tool.outcome_unknown':
    'A tool was interrupted by a crash; whether it took effect is not known',
  'assistant.model_changed': 'The server serves another model',
  'audit.agent_named': 'An operator named another agent for the inspector to call',
  'audit.api_key.created': 'An API key was created',
  'audit.api_key.revoked': 'An API key was revoked',
  'audit.conversation_forked': 'An operator copied a conversation in the inspector',
  'audit.slot_set': 'An operator set a slot of a conversation in the inspector',
  'audit.bodies_over_budget':
    'A request body was refused because unfinished bodies use the whole memory budget (503); `refused` counts them',
  'audit.forbidden': 'An authenticated caller was refused (403)',
  'audit.limited':
    'A caller exceeded a limit (429): one line when it starts, then one in ten seconds with the number in `refused`',
  'audit.unauthenticated_remote':
    'The server listens for other machines and accepts anonymous callers',
  'audit.push.hosts_opened':
    'Webhooks to these hosts are allowed, private and loopback addresses included',
  'audit.push.revived': 'An operator retried a dead webhook delivery',
  'audit.task_cancelled': 'An operator cancelled a task in the inspector',
  'audit.url_refused': 'The policy refused the URL of a webhook',
  'bus.connection.lost': 'The connection to the broker is lost; the client reconnects',
  'bus.dead_letter': 'A message was moved to the dead-letter queue, see `legate bus dead`',
  'bus.message.dropped': 'A message could not be decoded at all; it was dropped',
  'bus.message.refused':
    'A message exceeds a bound or cannot be decoded; it was moved to the dead letters',
  'bus.handler.failed': 'A message handler failed; the message is retried',
  'http.internal_error': 'An internal error (500); callers get no details',
  'model.failed_over': 'The call failed over to another model of the group',
  'model.retry': 'A call to a language model is retried',
  'project.warning':
    'Something in the project has no effect here, or is an error that only affects one flow',
  'response.server.failed': 'The NLG server did not answer; the response of the domain was sent',
  'push.dead': 'A webhook delivery failed after all attempts, see `legate push`',
  'push.delivered': 'A webhook was delivered',
  'push.retry': 'A webhook delivery failed; retried later',
  'tasks.agent.failed': 'An agent threw; its task failed with `agent_error`',
  'tasks.agent.invalid_response': 'An agent yielded an invalid event',
  'tasks.turn.lost': 'A turn could not be stored; another replica takes it over',
  'tasks.turn.taken_over': 'This replica took over a turn of a dead process',
  'telemetry.another_sdk': 'The program has an OpenTelemetry SDK; Legate uses it',
  'telemetry.export.failed': 'The collector rejects exports; logged once until it recovers',
  'telemetry.export.recovered': 'The collector accepts exports again',
  'telemetry.sdk.warning': 'The OpenTelemetry SDK dropped spans or reports a problem',
  'telemetry.shared': 'Telemetry was started already; the first settings apply',
  'action.stream.not_ended':
    'An action returned without ending its streamed message; Legate ended it',
  'agent.cancel_failed': 'The cancellation of a sub agent failed',
  'agents.remote.cancel_failed': 'The cancellation of a remote task failed',
  'assistant.channel_unauthenticated':
    'A2A authenticates callers, and this channel does not; `fix` has the setting',
  'http.url_missing':
    'The server listens on every address, and its card names `localhost`, where other machines do not reach it; `fix` has the setting',
  'auth.certificate_alone_suffices':
    'A client certificate is sufficient without a token or key; `fix` has the setting that requires both',
  'auth.keys_unreachable':
    'Keys of an issuer could not be fetched; `usesOldKeys`: whether the previous keys still verify callers',
  'files.reload_failed': 'Changed keys or certificates are invalid; the previous ones stay in use',
  'files.reloaded': 'Changed keys or certificates are in use',
  'assistant.inactivity.failed': 'The search for inactive conversations failed; retried',
  'assistant.inactivity.record_failed':
    'Inactivity of a conversation could not be recorded; the timer is retried',
  'assistant.model_sync_failed':
    "The model that another replica loaded can't be served here; retried",
  'assistant.outcome_unknown':
    'An action or call was in flight when its process died; it is not repeated, and the user is informed',
  'assistant.workers_not_needed': '`SANIC_WORKERS` has no effect: the store has no such limit',
  'audit.approval_decided': 'An operator decided the request of a peer in the inspector',
  'audit.trust_set': 'An operator granted or revoked the trust of a peer in the inspector',
  'bus.query.failed':
    'The agents on the bus could not be asked to announce themselves; the next announcement is awaited',
  'bus.announce.failed': 'An agent could not be announced on the bus; retried',
  'bus.announcement.refused':
    'The announcement of a peer is invalid; its directory entry stays unchanged',
  'bus.reply.unauthenticated': 'A reply is not from the agent that was called; it was dropped',
  'bus.reply.unmatched': 'A reply matches no open call of this store',
  'bus.cancel.failed': 'A cancellation could not be sent to the agent',
  'bus.channel.failed': 'The broker closed a channel; it is reopened',
  'bus.connection.blocked': 'The broker blocks the connection (alarm)',
  'bus.connection.open': 'A connection to the broker is open',
  'bus.connection.unblocked': 'The broker accepts messages again',
  'bus.connection.waiting': 'The broker is unreachable; retried until --connect-timeout',
  'bus.consumer_timeout.unknown':
    'The broker has no time limit per queue: tasks longer than its consumer_timeout are redelivered',
  'bus.message.redelivered': 'The broker delivered a message again; the engine deduplicates it',
  'bus.queue.bind_refused': 'The user may not bind queues; the existing bindings are used',
  'bus.queue.compare_refused': 'The user may not compare the arguments of queues',
  'bus.queue.delete_failed':
    'The queue of answers was not deleted at shutdown; it expires (`queues.reply_expiry`)',
  'bus.queue.full': 'A queue has reached its limit; messages to it are refused',
  'bus.queue.migrated': 'A queue was replaced by one with the configured arguments',
  'bus.task.accept_failed':
    'The message of a long task could not be stored; it is acknowledged at its end',
  'bus.task.accepted': 'The message of a long task is stored and acknowledged',
  'turn.ended':
    'A turn has ended: with its caller, operation (`message`, or a command of a channel), state and duration',
  'bus.task.ended': 'A task from the bus has ended, with its state',
  'bus.task.started': 'A task from the bus has started',
  'bus.task.take_over_failed': 'The message of a dead process could not be handled; retried',
  'bus.task.taken_over': 'This worker took over a long task of a dead process',
  'bus.consumer.cancel_failed': 'A consumer could not be cancelled at the broker',
  'bus.consumer.refill_failed':
    'A consumer of a task queue was not started; retried with the next task',
  'bus.consumer.reopen_failed':
    'Queues can’t be consumed after a lost connection; retried, and logged once for each outage',
  'bus.consumer.reopened': 'A queue is consumed again',
  'bus.publish.retry': 'A message was not confirmed; it is sent again',
  'bus.publish.lost': 'An unconfirmed update was lost; the result does not depend on it',
  'bus.queue.arguments_differ':
    'A queue exists with other arguments than configured; it is used as it is',
  'bus.refusal.notify_failed': 'The sender of a refused message could not be notified',
  'bus.replay.refused': 'A dead letter exceeds a bound and was not replayed',
  'bus.reply.unroutable':
    'The reply queue of the caller is gone, or the message names no reply topic (`reason`); the result is stored',
  'bus.settle.failed': 'A message could not be settled; the broker redelivers or dead-letters it',
  'bus.status.publish_failed': 'The state of a task could not be broadcast',
  'bus.task.failed': 'A task from the bus failed because of the host; retried',
  'call.failed': 'A `call` step threw; the flow continues as for a failed call',
  'cli.worker_port.failed': 'A probe or scrape of a worker could not be answered',
  'commands.generator_failed': 'The command generator threw; the user gets an apology',
  'condition.invalid': 'A condition of a flow cannot be evaluated, and counts as false',
  'generator.llm.answered': 'The model of the command generator answered, with its token usage',
  'generator.llm.failed': 'The model of the command generator failed; the user gets an apology',
  'generator.llm.not_understood': 'The answer of the model has no command',
  'generator.no_model':
    'The pipeline needs a model and none is configured: the matching generator is used',
  'grpc.internal_error': 'An internal error; callers get no details',
  'mcp.connect.retry': 'An MCP server is unreachable; retried',
  'mcp.connection.lost': 'The connection to an MCP server was lost; the idempotent call is retried',
  'mcp.error': 'An MCP server sent an invalid message',
  'mcp.server.error': 'An MCP request to an agent is invalid',
  'mcp.server.failed':
    'An MCP request to an agent failed; the client gets 500, or its connection is closed',
  'mcp.server.stderr': 'Standard error of an MCP server process',
  'lease.failed':
    'The lease of this replica could not be renewed, or a takeover from a dead replica failed; retried',
  'mcp_server.startup_check_failed': 'An MCP server of the project is unavailable',
  'mcp_tool.called': 'A step called a tool; with the names of its arguments, without values',
  'mcp_tool.failed': 'The tool call of a step failed',
  'mcp_tool.unknown': 'A step names a tool that its server does not have',
  'models.key_over_plain_http': 'The API key of a model is sent over plain HTTP',
  'rephraser.no_model': 'The rephraser has no model: responses are sent as written',
  'models.group_left_out':
    'A group of models cannot be created, for instance without its key: the project runs without it',
  'models.keys_ignored': 'A group of models has keys that have no effect here',
  'models.strategy_replaced': 'An unknown routing strategy was replaced',
  'peers.cancel.failed': 'A cancellation could not be sent to the peer',
  'peers.card.fetch_failed': 'The card of a well-known peer could not be fetched; retried later',
  'peers.event.failed':
    'An event of a peer could not be stored in 30 s; the call continues once the store is back',
  'peers.progress.failed': 'The progress of a peer could not be passed on',
  'peers.invocation.failed': 'A call to a peer failed',
  'peers.takeover.failed': 'A call of another process could not be taken over; retried',
  'peers.message.cancel_failed':
    'The task of an aborted message could not be cancelled at the peer',
  'peers.outcome.save_failed':
    'The result of a request by a peer could not be stored in the working memory',
  'peers.outcome.notify_failed':
    'The outcome of a call could not be sent to its conversation; retried at the next start',
  'peers.question.model_failed':
    'The model could not answer the question of a peer; the user is asked',
  'peers.question.ask_failed': 'The question of a peer could not be put to the user',
  'peers.refresh.failed': 'The cards of peers could not be refreshed; retried later',
  'peers.request.save_failed': "A peer's request exceeds the working memory, and is not stored",
  'peers.result.save_failed': 'The result of a peer could not be saved in working memory',
  'peers.timeout.failed': 'A call could not be ended at its timeout',
  'peers.trust.granted': 'Trust was granted to a caller, with the grantor and the skills',
  'peers.trust.revoked': 'Trust of a caller was revoked',
  'push.claim_failed': 'Deliveries could not be claimed from the store; retried',
  'push.read_failed':
    'The event of a delivery could not be read from the store; retried when its lease expires',
  'push.settle_failed':
    'The outcome of a delivery could not be stored; it is repeated when its lease expires',
  'rejection.invalid': 'The condition of a rejection cannot be evaluated; the user gets an apology',
  'response.condition.invalid':
    'The condition of a response cannot be evaluated, and counts as false',
  'response.missing':
    "A flow names a response that the domain doesn't have; nothing is sent and the flow continues",
  'response.not_available': 'The response has no variation for this channel; an apology was sent',
  'response.placeholder':
    'A response is a placeholder for the rephraser, which did not run or failed; another response was sent',
  'response.rephrase.failed': 'The model could not rephrase a response; it was sent as written',
  'sub_agent.cancel_failed': 'The cancellation of a remote task failed',
  'sub_agent.event.ignored': 'The module of a sub agent returned an invalid event',
  'sub_agent.external.failed': 'A remote sub agent failed or is unreachable',
  'sub_agent.module.failed': 'The module of a sub agent threw',
  'sub_agent.react.failed': 'A ReAct sub agent failed or timed out',
  'sub_agent.retry': 'A call to a sub agent is retried',
  'sub_agent.no_model': 'A sub agent has no model; calls of it fail',
  'sub_agent.python_module_left_out':
    'The module of a sub agent is a Python class; the agent runs without its hooks',
  'sub_agent.startup_check_failed': 'A sub agent of the project is unavailable',
  'store.clock_skew':
    "The wall clock of this process is more than a second from the store's; leases and timers are not affected",
  'store.clock_skew.over': "The wall clock agrees with the store's again",
  'store.outage.ended': 'Writes succeed again; with the duration of the outage',
  'store.outage.started':
    'A write failed; further writes may fail until `store.outage.ended`, and `/ready` answers 503',
  'sub_agent.progress_dropped':
    'A sub agent sent too many progress messages; further ones are dropped',
  'tasks.agent.cleanup_failed': 'The cleanup of an agent threw',
  'tasks.cancel.failed': 'A cancellation is stored, but could not be delivered yet',
  'tasks.maintenance.failed': 'Maintenance (retention, missed notifications) failed; retried',
  'tasks.notice.failed':
    'The update of another replica could not be read; the next event includes it',
  'search.cache_failed':
    'The vectors of documents could not be saved; they are embedded again at the next start',
  'search.cache_unreadable':
    'The saved vectors of documents are damaged; documents are embedded again',
  'search.embedded': 'Passages of documents were embedded; unchanged ones are not sent again',
  'embedding.failed':
    'The embedding model failed; memories or services are searched by words until the next attempt',
  'search.embedding_failed': 'The embedding model failed; documents are searched by words',
  'search.model_failed': 'The model failed to answer from documents; the best passage was sent',
  'search.ready': 'The documents of a project are indexed',
  'tasks.supersede.failed': 'An older question of the conversation could not be ended',
  'tasks.turn.not_started':
    'A turn could not be started; a later takeover retries it, here or on another replica',
  'tasks.turn.release_failed':
    'Turns that could not start were not released; other replicas take them over later',
  'tracker.no_log':
    'A message cannot be reverted, because the caller did not pass the log of the conversation',
  'tracker.stale_stack': 'The flows have changed during a conversation; it restarts',
  'turn.step_limit_exceeded': 'A turn exceeded its step limit; all flows were cancelled',
  'turn.action_failed':
    'An action that a slot runs in each turn failed; the conversation goes on without it',
  'turn.step_failed': 'A step failed; the user gets an error message',
  'audit.unauthenticated': 'Credentials are missing or invalid (401)',
  'http.stream.failed': 'A stream ended with an error',
  'tasks.command.unreadable':
    'The stored request of a command is invalid; the command ended without effect',
  'tasks.context_limit': '`maxContexts` is exceeded; the task failed with `context_limit`',
  'tasks.message.in_flight': 'A duplicate message arrived while its turn was in flight (409)',
  'tasks.turn.timeout': 'A turn took longer than `taskTimeoutMs` and was cancelled',
};
