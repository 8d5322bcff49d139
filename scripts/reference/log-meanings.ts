/** What log events mean: all of them, for a test compares them to the code. */
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
  'action.server.connect_failed': 'The action server was not reached; tried again',
  'action.server.exited': 'The Python action server ended; it is started again',
  'action.server.log':
    'A line that the Python action server has printed, at the level it was printed at',
  'action.server.ready': 'The Python action server answers',
  'action.slot.invalid': 'An action set a slot to a value that it cannot hold',
  'action.slot.unknown': 'An action set a slot that the domain does not have',
  'agents.agent.failed': 'An agent threw; the caller is told no details',
  'agents.model.history_cut':
    'A prompt was longer than the model can read: older turns of the conversation were left out',
  'agents.model.truncated':
    'A language model stopped at its limit of output tokens: the answer is cut (`finish_reason: length`)',
  'agents.model.failed': 'A language model did not answer, after all attempts',
  'agents.remote.failed': 'A remote agent broke off',
  'agents.remote.not_reached': 'A remote agent could not be reached',
  'agents.tool.failed': 'A tool threw; the model is told why',
  'agents.tool.outcome_unknown':
    'A tool was interrupted by a crash; whether it took effect is not known',
  'assistant.model_changed': 'Another model is served from now on',
  'audit.agent_named': 'An operator named another agent for the inspector to call',
  'audit.api_key.created': 'An API key was made',
  'audit.api_key.revoked': 'An API key was revoked',
  'audit.bodies_over_budget':
    'A request body was refused because unfinished bodies hold all the memory they may (503); `refused` counts them',
  'audit.forbidden': 'Somebody known was refused (403)',
  'audit.limited':
    'A caller exceeded a limit (429): one line when it starts, then one in ten seconds with the number in `refused`',
  'audit.unauthenticated_remote':
    'The server listens for other machines and accepts anonymous callers',
  'audit.push.hosts_opened':
    'Webhooks may go to these hosts wherever they lead, private and loopback addresses included',
  'audit.push.revived': 'A dead webhook delivery was sent again by hand',
  'audit.task_cancelled': 'Somebody cancelled a task in the inspector',
  'audit.url_refused': 'A webhook was to go where it must not',
  'bus.connection.lost': 'The connection to the broker is lost; the client reconnects',
  'bus.dead_letter': 'A message was moved to the dead-letter queue, see `legate bus dead`',
  'bus.message.dropped': 'A message could not be decoded at all; it was dropped',
  'bus.message.refused':
    'A message exceeds a bound or cannot be decoded; it was moved to the dead letters',
  'bus.handler.failed': 'A message handler failed; the message is retried',
  'http.internal_error': 'A fault of the server (500); callers see nothing of it',
  'tls.reload_failed': 'A new certificate cannot be read; the old one stays',
  'tls.reloaded': 'A new certificate is in use',
  'model.failed_over': 'Another model of the group stands in',
  'model.retry': 'A language model is asked again',
  'project.warning': 'Something in the project has no effect here',
  'response.server.failed': 'The server of responses did not answer; what the domain has was said',
  'push.dead': 'A webhook was given up, see `legate push`',
  'push.delivered': 'A webhook was delivered',
  'push.retry': 'A webhook was not delivered; tried again later',
  'tasks.agent.failed': 'An agent threw; its task failed with `agent_error`',
  'tasks.agent.invalid_response': 'An agent made an event that is not valid',
  'tasks.turn.lost': 'A turn could not be written to its end; another replica takes it over',
  'tasks.turn.taken_over': 'A turn whose process died goes on here',
  'telemetry.another_sdk': 'The program has an OpenTelemetry SDK; everything is told to that one',
  'telemetry.export.failed': 'The collector does not take what is sent; said once until it does',
  'telemetry.export.recovered': 'It does again',
  'telemetry.sdk.warning': 'The OpenTelemetry SDK dropped spans or reports a problem',
  'telemetry.shared': 'Telemetry was on already; the first settings hold',
  'action.stream.not_ended':
    'An action returned without ending the message that it streamed; it was ended',
  'agent.cancel_failed': 'A sub agent that is no longer wanted could not be told so',
  'agents.remote.cancel_failed': 'A remote agent could not be told that its task is cancelled',
  'assistant.inactivity.failed': 'Conversations at rest could not be looked for; tried again',
  'assistant.inactivity.record_failed':
    'Inactivity of a conversation could not be recorded; the timer is retried',
  'assistant.model_sync_failed':
    "The model that another replica loaded can't be served here; retried",
  'assistant.workers_not_needed': '`SANIC_WORKERS` has no effect: the store has no such limit',
  'audit.approval_decided': 'Somebody decided what a peer had asked for, in the inspector',
  'audit.trust_set': 'Somebody granted or revoked the trust of a peer, in the inspector',
  'auth.denied': 'No verifier knows the credentials, with the reason of each',
  'auth.forbidden': 'A caller lacks a scope',
  'bus.announce.failed': 'An agent could not be announced on the bus; retried',
  'bus.announcement.refused':
    'The announcement of a peer is invalid; its directory entry stays unchanged',
  'bus.reply.unauthenticated': 'A reply is not from the agent that was called; it was dropped',
  'bus.reply.unmatched': 'A reply matches no open call of this store',
  'bus.cancel.failed': 'A cancellation could not be sent to the agent',
  'bus.channel.failed': 'The broker closed a channel; it is reopened',
  'bus.connection.blocked': 'The broker accepts no messages at present',
  'bus.connection.open': 'The connection to the broker is open',
  'bus.consumer.cancel_failed': 'A consumer could not be cancelled at the broker',
  'bus.consumer.reopen_failed': 'A queue could not be consumed; retried',
  'bus.consumer.reopened': 'A queue is consumed again',
  'bus.publish.retry': 'A message was not confirmed; it is sent again',
  'bus.publish.lost': 'An unconfirmed update was lost; the result does not depend on it',
  'bus.queue.arguments_differ':
    'A queue exists with other arguments than configured; it is used as it is',
  'bus.refusal.notify_failed': 'The sender of a refused message could not be notified',
  'bus.replay.refused': 'A dead letter exceeds a bound and was not replayed',
  'bus.reply.unroutable': 'The reply queue of the caller is gone; the result is stored',
  'bus.settle.failed': 'A message could not be settled; the broker redelivers or dead-letters it',
  'bus.status.publish_failed': 'The state of a task could not be broadcast',
  'bus.task.failed': 'A task from the bus failed because of the host; retried',
  'call.failed': 'A `call` step threw; the flow goes on as it does when a call fails',
  'cli.metrics.not_shown': 'Metrics could not be shown to Prometheus',
  'commands.generator_failed':
    'What understands messages threw; the user is told that it went wrong',
  'condition.invalid': 'A condition of a flow cannot be evaluated, and counts as false',
  'generator.llm.answered': 'The model that understands messages answered, with its tokens',
  'generator.llm.failed': 'It did not answer; the user is told that it went wrong',
  'generator.llm.not_understood': 'Its answer holds no command',
  'generator.no_model':
    'The pipeline asks for a model and none is named: messages are matched instead',
  'grpc.internal_error': 'A fault of the server; callers see nothing of it',
  'mcp.connect.retry': 'An MCP server was not reached; tried again',
  'mcp.connection.lost': 'An MCP server broke off; the call is made again, since it may be',
  'mcp.error': 'An MCP server sent what is not understood',
  'mcp.server.error': 'A request to an agent that is served as an MCP server was not understood',
  'mcp.server.stderr': 'What the program of an MCP server writes to standard error',
  'lease.failed':
    'The lease of this replica could not be renewed, or the work of dead replicas not taken over; tried again',
  'mcp_server.startup_check_failed': 'An MCP server of the project is not there',
  'mcp_tool.called': 'A step called a tool; names of what went along, never values',
  'mcp_tool.failed': 'A step called a tool, which failed',
  'mcp_tool.unknown': 'A step names a tool that its server does not have',
  'models.key_over_plain_http': 'The key of a model goes over the network in the clear',
  'rephraser.no_model':
    'Responses should be rephrased and no model is named: they are sent as written',
  'models.group_left_out':
    'A group of models that nothing uses cannot be created, for instance without its key',
  'models.keys_ignored': 'A group of models has keys that have no effect here',
  'models.strategy_replaced': 'A way of routing is not known here; another one is used',
  'peers.cancel.failed': 'A cancellation could not be sent to the peer',
  'peers.card.not_fetched':
    'The card of a peer that is known by its address cannot be had; tried again later',
  'peers.event.failed': 'An event of a peer could not be stored; the call ends at its timeout',
  'peers.invocation.failed': 'A call to a peer failed',
  'peers.takeover.failed': 'A call of another process could not be taken over; retried',
  'peers.message.cancel_failed':
    'The task of an aborted message could not be cancelled at the peer',
  'peers.outcome.not_kept': 'What came of a request by a peer is not in the working memory',
  'peers.outcome.notify_failed':
    'The outcome of a call could not be sent to its conversation; retried at the next start',
  'peers.question.model_failed':
    'The model could not answer the question of a peer; the user is asked',
  'peers.question.ask_failed': 'The question of a peer could not be put to the user',
  'peers.refresh.failed': 'Cards of peers could not be looked at again; tried later',
  'peers.request.not_kept':
    'What a peer told does not fit into the working memory, and is not noted',
  'peers.result.save_failed': 'The result of a peer could not be saved in working memory',
  'peers.timeout.failed': 'A call could not be ended at its timeout',
  'peers.trust.granted': 'A caller is trusted more, by whom and for which skills',
  'peers.trust.revoked': 'A caller is trusted less',
  'push.claim-failed': 'Deliveries could not be read from the store; tried again',
  'push.settle-failed':
    'The outcome of a delivery could not be stored; it is made again when its lease ends',
  'rejection.invalid':
    'The condition of a rejection cannot be evaluated; the user is told that it went wrong',
  'response.condition.invalid':
    'The condition of a response cannot be evaluated, and counts as false',
  'response.not_available': 'There is no such response for this channel; an apology was said',
  'response.rephrase.failed': 'The model did not reword a response; it was said as it stands',
  'sub_agent.cancel_failed': 'An agent elsewhere could not be told that its task is cancelled',
  'sub_agent.event.ignored': 'The module of a sub agent gave something that is no event',
  'sub_agent.external.failed': 'An agent elsewhere failed, or was not reached',
  'sub_agent.module.failed': 'The module of a sub agent threw',
  'sub_agent.react.failed': 'A ReAct agent failed, or took too long',
  'sub_agent.retry': 'A sub agent is tried again',
  'sub_agent.python_module_left_out':
    'The module of a sub agent is a Python class; the agent runs without its hooks',
  'sub_agent.startup_check_failed': 'A sub agent of the project is not there',
  'store.clock_skew':
    "The wall clock of this process is more than a second from the store's; leases and timers are not affected",
  'store.clock_skew.over': "The wall clock agrees with the store's again",
  'store.outage.ended': 'The store can be written again; says for how long it could not',
  'store.outage.started':
    'A write failed, and so may others until the end of the outage is logged; `/ready` says no meanwhile',
  'sub_agent.progress_dropped':
    'A sub agent sent too many progress messages; further ones are dropped',
  'tasks.agent.cleanup_failed': 'An agent threw while it was let go',
  'tasks.cancel.failed': 'A cancel is stored, but could not be carried out yet',
  'tasks.maintenance.failed': 'Old tasks or missed notices could not be looked after; tried again',
  'tasks.notice.failed':
    'What another replica did to a task could not be read; found at the next event',
  'search.cache_failed':
    'The vectors of documents could not be saved; they are embedded again at the next start',
  'search.cache_unreadable':
    'The saved vectors of documents are damaged; documents are embedded again',
  'search.embedded': 'Passages of documents were embedded; unchanged ones are not sent again',
  'search.embedding_failed': 'The embedding model failed; documents are found by their words',
  'search.model_failed': 'The model failed to answer from documents; the best passage was sent',
  'search.ready': 'The documents of a project are indexed',
  'tasks.supersede.failed': 'An older question of the conversation could not be ended',
  'tasks.turn.not_started': 'A turn could not be started; the next look finds it again',
  'tracker.no_log':
    'A message was to be taken back where nobody hands over the log of the conversation; it stays',
  'tracker.stale_stack': 'The flows have changed under a conversation; it begins anew',
  'turn.step_limit_exceeded': 'A turn exceeded its step limit; all flows were cancelled',
  'turn.step_failed': 'A step failed; the user gets an error message',
  'audit.unauthenticated': 'Credentials are missing or not valid (401)',
  'http.stream.failed': 'A stream ended with an error',
  'tasks.context_limit': '`maxContexts` is exceeded; the task failed with `context_limit`',
  'tasks.message.in_flight': 'The same message came again while it was being worked on (409)',
  'tasks.turn.timeout': 'A turn took longer than `taskTimeoutMs` and was cancelled',
};
