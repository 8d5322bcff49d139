/**
 * Files of Rasa projects with every key of interest. Names that authors choose start with `my_` or
 * `utter_my_`, which distinguishes them from keys.
 */
export interface RasaSample {
  /** The project file that contains the keys. */
  readonly file: string;
  /** YAML. */
  readonly text: string;
}

export const rasaSamples: readonly RasaSample[] = [
  {
    file: 'config.yml',
    text: `
recipe: default.v1
assistant_id: shop
language: de
additional_languages: [fr]
importers: [RasaFileImporter]
spaces: []
pipeline:
  - name: CompactLLMCommandGenerator
    llm: {model_group: my_group}
    prompt_template: prompt.jinja2
    flow_retrieval: {active: false, num_flows: 3, turns_to_embed: 2, should_embed_slots: false, embeddings: {model_group: my_group}}
    user_input: {max_characters: 100}
    minimize_num_calls: true
    include_date_time: false
    timezone: Europe/Berlin
    trace_prompt_tokens: true
policies:
  - name: EnterpriseSearchPolicy
    llm: {model_group: my_group}
    embeddings: {model_group: my_group}
    vector_store: {type: qdrant, source: ./handbook, threshold: 0.2}
    prompt_template: prompt.jinja2
    citation_enabled: false
    use_generative_llm: false
    check_relevancy: false
    max_messages_in_query: 3
    include_date_time: true
    timezone: Europe/Berlin
    trace_prompt_tokens: true
    max_history: 4
    priority: 2
`,
  },
  {
    file: 'config.yml',
    text: `
pipeline:
  - name: custom.MyCommandGenerator
    llm: {provider: self-hosted, model: m, api_base: "http://127.0.0.1:1/v1", request_timeout: 7}
    prompt: prompt.jinja2
policies:
  - {name: EnterpriseSearchPolicy, prompt: prompt.jinja2}
`,
  },
  { file: 'config.yml', text: 'pipeline: [{name: DIETClassifier}]' },
  { file: 'config.yml', text: 'policies: [{name: IntentlessPolicy}]' },
  {
    file: 'credentials.yml',
    text: 'rest:\n',
  },
  { file: 'credentials.yml', text: 'slack: {slack_token: x}' },
  ...[
    'tracker_store: {type: SQL}',
    'lock_store: {type: redis}',
    'timer_store: {type: redis}',
    'vector_store: {type: qdrant}',
    'event_broker: {type: kafka}',
    'tracing: {type: otlp}',
    'metrics: {type: otlp}',
    'interaction_handling: {}',
    'privacy: {rules: []}',
    'models: {url: "http://127.0.0.1:1"}',
    'action_server: {}',
  ].map((text) => ({ file: 'endpoints.yml', text })),
  {
    file: 'endpoints.yml',
    text: `
action_endpoint:
  url: http://127.0.0.1:5055/webhook
  actions_module: actions
  headers: {accept-language: de}
  basic_auth: {username: me, password: "\${SECRET}"}
  tls: {ca: ca.pem}
  token: \${SECRET}
  token_name: key
  enable_selective_domain: true
  timeout: 3
  cafile: ca.pem
  params: {a: b}
nlg: {url: "http://127.0.0.1:5056/nlg", token: "\${SECRET}"}
`,
  },
  {
    file: 'endpoints.yml',
    text: `
nlg:
  type: rephrase
  llm: {model_group: my_group}
  rephrase_all: true
  summarize_history: false
  max_historical_turns: 2
  prompt: prompt.jinja2
model_groups: [{id: my_group, models: [{provider: ollama, model: m}]}]
`,
  },
  {
    file: 'endpoints.yml',
    text: `
nlg: {type: custom.MyRephraser, prompt_template: prompt.jinja2, llm: {model_group: my_group}}
model_groups:
  - id: my_group
    router: {routing_strategy: simple-shuffle, allowed_fails: 2, cooldown_time: 5}
    models:
      - provider: azure
        deployment: d
        model: m
        api_base: http://127.0.0.1:1
        api_key: \${SECRET}
        api_version: "1"
        temperature: 0.1
        top_p: 0.5
        timeout: 3
        request_timeout: 4
        max_tokens: 50
        max_completion_tokens: 60
        reasoning_effort: low
        seed: 7
        structured_output: true
        tls: {ca: ca.pem, cert: client.pem, key: client.key, passphrase: "\${SECRET}"}
        extra_headers: {a: b}
        extra_body: {a: b}
      - provider: bedrock
        model: m
        aws_secret_access_key: \${SECRET}
        aws_session_token: \${SECRET}
`,
  },
  {
    file: 'endpoints.yml',
    text: `
a2a_server:
  description: Answers questions.
  url: https://shop.example
  agent_card_path: card.json
  include_conversation_repair: false
  task_timeout_seconds: 30
  a2a_message_cache_ttl_seconds: 20
  on_interrupted: run-again
  max_contexts: 5
  push_notifications_enabled: true
  push_notification_allowed_hosts: [a.example]
  auth:
    type: bearer
    jwt: {algorithm: HS512, secret: "\${SECRET}", issuer: i, audience: a}
`,
  },
  {
    file: 'endpoints.yml',
    text: `
a2a_server:
  description: Answers questions.
  tls: {certificate: cert.pem}
  auth: {type: bearer, jwt: {algorithm: RS256, public_key_path: key.pem}}
`,
  },
  {
    file: 'endpoints.yml',
    text: `
a2a_server:
  description: Answers questions.
  card_signing_key: card.pem
  auth: {require: [jwt, mtls], jwt: {algorithms: [RS256, ES256], jwks_path: keys.json}}
push: {allowed_names: ["*.svc.cluster.local"]}
http_api: {auth: true, admins: [me]}
`,
  },
  {
    file: 'endpoints.yml',
    text: `
a2a_server:
  description: Answers questions.
  auth: {api_keys_path: keys.json, jwt: {jwks_url: "https://a.example/jwks"}}
`,
  },
  {
    file: 'endpoints.yml',
    text: `
a2a_server:
  description: Answers questions.
  auth: {type: bearer, jwt: {openid_issuer: "http://a.example", allowed_names: [a.example], tls: {ca: ca.pem}}}
`,
  },
  {
    file: 'endpoints.yml',
    text: `
a2a_server:
  description: Answers questions.
  auth: {type: bearer, jwt: {algorithm: HS256, secret_path: secret}}
`,
  },
  {
    file: 'endpoints.yml',
    text: `
mcp_servers:
  - name: my_tools
    type: http
    url: http://127.0.0.1:1/mcp
    oauth: {client_id: me, client_secret: "\${SECRET}", token_url: "https://a.example/token", scope: s, audience: a, timeout: 3}
    meta_map: {static: {a: b}, from_slots: [{slot: my_size, param: size}]}
  - {name: my_key, url: "http://127.0.0.1:1/mcp", api_key: "\${SECRET}", header_name: x-key, header_format: "{key}"}
  - {name: my_token, url: "http://127.0.0.1:1/mcp", token: "\${SECRET}"}
  - {name: my_tls, url: "https://127.0.0.1:1/mcp", tls: {ca: ca.pem, cert: client.pem, key: client.key, passphrase: "\${SECRET}"}}
  - {name: my_program, type: stdio, command: node, args: [server.js], env: {A: b}}
`,
  },
  {
    file: 'domain.yml',
    text: `
version: "3.1"
intents: [my_greet]
entities: [my_size]
actions: [action_my_own, {action_my_other: {send_domain: true}}]
forms: {}
e2e_actions: []
config: {store_entities_as_slots: true}
session_config: {session_expiration_time: 5, start_session_after_expiry: false}
slots:
  my_size:
    type: categorical
    values: [s, m]
    initial_value: s
    influence_conversation: true
    shared_for_coexistence: true
    value_reset_delay: 3
    validation:
      rejections: [{if: not slots.my_size, utter: utter_my_words}]
      refill_utter: utter_my_words
    mappings: [{type: from_llm, allow_nlu_correction: true, coexistence_system: CALM}]
  my_count: {type: float, min_value: 1, max_value: 3, mappings: [{type: controlled, run_action_every_turn: action_my_own}]}
  my_other: {type: text, mappings: [{type: custom, action: action_my_own}]}
  my_entity: {type: text, mappings: [{type: from_entity, entity: my_size, intent: my_greet, not_intent: x, role: r, group: g, conditions: []}]}
  my_intent: {type: text, mappings: [{type: from_intent, intent: my_greet, value: yes}]}
responses:
  utter_my_words:
    - id: a
      text: Hello
      condition: [{type: slot, name: my_size, value: m}]
      channel: slack
      buttons: [{title: A, payload: /a}]
      quick_replies: [{title: A}]
      image: https://a.example/i.png
      attachment: {a: b}
      custom: {a: b}
      elements: [{title: A}]
      metadata: {rephrase: true, rephrase_prompt: Say it}
      translation: {fr: Bonjour}
      allow_interruptions: false
    - text: Hi
`,
  },
  { file: 'domain.yml', text: 'session_config: {carry_over_slots_to_new_session: false}' },
  {
    file: 'domain.yml',
    text: 'slots: {my_size: {type: text}, route_session_to_calm: {type: bool}}',
  },
  {
    file: 'data/flows.yml',
    text: `
version: "3.1"
nlu: []
stories: []
rules: []
responses: {}
regex_features: []
lookup_tables: []
synonyms: []
flows:
  my_flow:
    name: a flow
    description: Does things.
    translation: {fr: {name: un flow}}
    if: slots.my_size = "m"
    nlu_trigger: [{intent: {name: my_greet, confidence_threshold: 0.5}}]
    always_include_in_prompt: true
    run_pattern_completed: false
    persisted_slots: [my_size]
    steps:
      - id: first
        collect: my_size
        description: the size
        metadata: {my_note: b}
        utter: utter_my_words
        ask_before_filling: true
        force_slot_filling: true
        rejections: [{if: not slots.my_size, utter: utter_my_words}]
        silence_timeout: 3
        dtmf: {length: 1}
        next: [{if: slots.my_size = "m", then: last}, {else: last}]
      - id: last
        noop:
        next: acts
      - id: acts
        action: utter_my_words
      - set_slots: [{my_size: m}]
      - call: my_tool
        mcp_server: my_tools
        mapping: {input: [{param: size, slot: my_size}], output: [{slot: my_size, value: result.structuredContent.size}]}
      - call: my_agent
        exit_if: [slots.my_size is not null]
      - link: my_second
  my_second:
    description: Does more.
    steps: [{collect: my_size, reset_after_flow_ends: false, utter: utter_my_words}]
`,
  },
  {
    file: 'sub_agents/my_agent/config.yml',
    text: `
agent: {name: my_agent, description: Finds sizes., protocol: RASA}
configuration:
  llm: {model_group: my_group}
  prompt_template: prompt.jinja2
  module: custom.MyAgent
  timeout: 3
  max_retries: 1
  startup_check: lazy
  include_date_time: false
  timezone: Europe/Berlin
  enable_filler_messages: false
  tool_timeout: 2
  max_iterations: 3
connections:
  mcp_servers: [{name: my_tools, include_tools: [a]}, {name: my_other, exclude_tools: [b]}]
`,
  },
  {
    file: 'sub_agents/my_agent/config.yml',
    text: `
agent: {name: my_agent, description: Finds sizes., protocol: A2A}
configuration:
  agent_card: https://a.example/card.json
  auth: {token: "\${SECRET}"}
  tls: {ca: ca.pem}
  verify_card: {keys: card.pem, jwks_url: "https://a.example/keys"}
  max_polling_time: 5
  polling_initial_delay: 1
  background_after: 2
`,
  },
];
