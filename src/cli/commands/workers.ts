import type { Command } from 'commander';
import type { JwtAlgorithm } from '../../auth/index.ts';
import { command, flag, negated, operand, type OptionsOf, value, values } from './declare.ts';
import {
  bus,
  cors,
  count,
  dangerouslyAllowUnauthenticatedRemote,
  existingStore,
  inspect,
  inspectToken,
  jsonLines,
  listening,
  listenOn,
  logLevel,
  openInspector,
  publicUrl,
  port,
  portNumber,
  positiveNumber,
  store,
} from './options.ts';

/** Servers can start before their broker. */
const connectTimeout = value('seconds', 'how long to wait for a broker that is not up yet', {
  default: 60,
  parse: positiveNumber,
});

const busName = value('name', "name on the bus (default: the agent's own name)");

const workOptions = {
  ...bus,
  endpoints: value(
    'file',
    'endpoints file, instead of the endpoints.yml beside the agent; an assistant reads all of it (actions, models, MCP servers), not only bus: and store:',
  ),
  name: busName,
  once: flag('process one task and exit'),
  idleTimeout: value('seconds', 'with --once: exit if no task arrives in this time', {
    parse: positiveNumber,
  }),
  concurrency: value('count', 'maximum concurrent turns (default: 10)', { parse: count }),
  prefetch: value('count', 'maximum unacknowledged tasks (default: concurrency)', {
    parse: count,
  }),
  connectTimeout,
  store,
  trust: flag('enforce the levels of "legate trust" for each caller'),
  announce: negated('do not announce the agent to others'),
  json: flag('with --once: print the outcome as JSON'),
  port: value(
    'port',
    'port of /health, /ready, the inspector and, if endpoints.yml has telemetry: {prometheus: true}, /metrics (default: none; 9464 with --inspect or metrics, but not with --once)',
    { short: 'p', parse: portNumber },
  ),
  interface: value('host', 'address of that port (default: 127.0.0.1)', { short: 'i' }),
  inspect: flag(inspect.description, { conflicts: 'once' }),
  inspectToken,
  open: openInspector,
  dangerouslyAllowUnauthenticatedRemote: flag(
    'with --inspect: listen on a non-loopback address, without TLS',
  ),
  logLevel: logLevel('info'),
};
export type WorkCommandOptions = OptionsOf<typeof workOptions>;

export function workCommand(): Command {
  return command('work', {
    summary: 'run a worker: an agent that takes its tasks from RabbitMQ',
    isServer: true,
    operands: [
      operand('[agent]', 'module that exports an agent, assistant folder, or packed model', '.'),
    ],
    options: workOptions,
    notes: `If a module exports several agents, name one by its export: agents.ts#bob.

If a worker dies, another worker takes its tasks. What becomes of them is the agent's policy, as over
HTTP: with onInterrupted: 'run-again' the turn runs again with its journal, with 'fail' the task fails
with error_type "interrupted". llmAgent and workflows run again by default, other agents fail. Workers
of one agent need a shared store (PostgreSQL) for that; with SQLite, the restarted worker decides, and a
worker with another store runs the task from its beginning.

With --once, exits with 0 if the task succeeded or none arrived in time, and with 1 if it failed; the
caller gets its answer in both cases. Otherwise exits with 0 on Ctrl+C or SIGTERM, after running turns
have ended or were released to other workers.

A task that runs longer than ten seconds is acknowledged to the broker if the store is PostgreSQL; if its
worker dies, another one continues it from the store. With SQLite and with --once, tasks are acknowledged at
their end: the broker redelivers them if the worker dies, or after its consumer_timeout.`,
    examples: [
      'legate work examples/research/researcher.ts --bus-url amqp://localhost',
      'AMQP_URL=amqp://localhost legate work researcher.ts --once --idle-timeout 60',
      'legate work examples/bank --name bank',
      'legate work models/bank.tar.gz --name bank',
    ],
    run: async () => (await import('../work.ts')).work,
  });
}

const gatewayOptions = {
  ...bus,
  port: port(8080),
  interface: listenOn,
  url: publicUrl,
  name: value('name', 'name of the gateway on the bus', { default: 'gateway' }),
  work: values('agent', 'agents to run in this process as well, as with "legate work"'),
  connectTimeout: value(
    'seconds',
    'how long to wait for a broker that is not up yet; the port is open meanwhile (default: forever)',
    { parse: positiveNumber },
  ),
  store,
  authToken: value('token', 'bearer token that callers must send', {
    short: 't',
    env: 'AUTH_TOKEN',
  }),
  apiKeys: value(
    'file',
    'JSON file with API keys: [{"subject": "bob", "key": "..."}]; callers send X-Api-Key',
  ),
  jwtSecret: value('secret', 'secret that verifies JWTs of callers', {
    env: 'JWT_SECRET',
    conflicts: 'jwksUrl',
  }),
  jwksUrl: value('url', 'JWKS URL that verifies JWTs of callers'),
  jwtMethod: value<JwtAlgorithm>(
    'algorithm',
    'JWT algorithm (default: HS256, or RS256 with --jwks-url)',
    { choices: ['HS256', 'HS512', 'RS256', 'RS512', 'ES256', 'ES512', 'PS256'] },
  ),
  jwtIssuer: value('issuer', 'required JWT issuer'),
  jwtAudience: value('audience', 'required JWT audience'),
  compatibility: value<'rockbot'>(
    'system',
    "also take requests as clients of this system's gateway write them",
    { choices: ['rockbot'] },
  ),
  protectCard: flag('require authentication for the agent cards'),
  requestsPerSecond: value('count', 'rate limit per caller', { parse: positiveNumber }),
  inspect,
  inspectToken,
  open: openInspector,
  concurrentRequests: value('count', 'concurrent requests per caller (default: 1000)', {
    parse: count,
  }),
  openStreams: value('count', 'open streams per caller (default: 100)', { parse: count }),
  pushHosts: values(
    'host',
    'enable webhooks to exactly these hosts, private ones included; * for all public hosts',
  ),
  cors,
  ...listening,
  dangerouslyAllowUnauthenticatedRemote,
  logLevel: logLevel('info'),
};
export type GatewayCommandOptions = OptionsOf<typeof gatewayOptions>;

export function gatewayCommand(): Command {
  return command('gateway', {
    summary: 'serve agents on RabbitMQ over HTTP, with streams, webhooks and task lists',
    isServer: true,
    operands: [
      operand(
        '<agents...>',
        'names on the bus; the first one is served at /, each one at /agents/{name}',
      ),
    ],
    options: gatewayOptions,
    notes: `Several gateways can serve the same agents. Gateways with the same store share their tasks.

Agents of --work have the peers of the endpoints.yml beside them, or else those of the gateway's.`,
    examples: [
      'legate gateway researcher --bus-url amqp://localhost --port 8080',
      'AUTH_TOKEN=... legate gateway researcher bank -i 0.0.0.0 --requests-per-second 20',
      'legate gateway researcher --work examples/research/researcher.ts   (both in one process)',
    ],
    run: async () => (await import('../gateway.ts')).serveGateway,
  });
}

const callOptions = {
  ...bus,
  name: value('name', 'name of the caller, as the agent sees it', { default: 'cli' }),
  wellKnown: value('file', 'file with agents and their URLs (well-known-agents.json)'),
  data: value('json', 'JSON object to send with the message'),
  metadata: values('name=value', 'metadata of the message'),
  timeout: value('minutes', 'cancel the task after this time', {
    default: 5,
    parse: positiveNumber,
  }),
  answer: values('text', 'answers to questions of the agent, in order'),
  json: flag('print the result as JSON'),
  logLevel: logLevel('warn'),
};
export type CallCommandOptions = OptionsOf<typeof callOptions>;

export function callCommand(): Command {
  return command('call', {
    summary: 'call a skill of an agent over RabbitMQ or HTTP, and wait for the result',
    operands: [
      operand('<agent>', 'name on the bus, URL (https://...), or name in --well-known'),
      operand('<skill>', 'id of the skill to call'),
      operand('<message>', 'the message; - reads it from standard input'),
    ],
    options: callOptions,
    notes: `Progress and questions go to standard error, the result to standard output. Questions are answered
from --answer first, then line by line from standard input.

Exit codes: 0 completed, 1 failed, rejected, canceled or unanswered question, 2 invalid usage,
3 unreachable, 4 authorization required, 5 timed out.`,
    examples: [
      'legate call researcher research "How do bees find flowers?" --bus-url amqp://localhost',
      'legate call https://agents.example.com echo hello --json',
      `legate call bob negotiate-meeting "Half an hour" --data '{"minutes": 30}' --answer no yes`,
    ],
    run: async () => (await import('../call.ts')).call,
  });
}

const peersOptions = {
  endpoints: bus.endpoints,
  store,
  name: busName,
  json: jsonLines,
};
export type PeersCommandOptions = OptionsOf<typeof peersOptions>;

export function peersCommand(): Command {
  const load = () => import('../known-peers.ts');
  const agent = operand('[agent]', 'the agent whose peers they are, as for "legate work"', '.');
  return command('peers', {
    summary: 'list, import and remove the agents that an agent knows',
    notes: `The agent may be running. Those of peers.well_known in endpoints.yml are changed there.`,
    commands: [
      command('list', {
        summary: 'list the known agents with origin, address, last contact and skills',
        operands: [agent],
        options: peersOptions,
        examples: ['legate peers list reporter.ts', 'legate peers list . --json'],
        run: async () => (await load()).listPeers,
      }),
      command('import', {
        summary: 'add the agents of a known-agents.json',
        operands: [operand('<file>', 'known-agents.json of RockBot'), agent],
        options: peersOptions,
        notes: `The file is a list of {card, lastSeenAt}; cards have agentName, url, skills, authHeaderName and
authHeaderValueBase64. Agents without a URL are on the bus. Agents that are known already stay as they
are. Imported agents stay until they are removed.`,
        examples: ['legate peers import known-agents.json reporter.ts'],
        run: async () => (await load()).importPeers,
      }),
      command('remove', {
        summary: 'remove an agent that was imported, registered or announced',
        operands: [operand('<peer>', 'name as printed by list'), agent],
        options: peersOptions,
        examples: ['legate peers remove bob reporter.ts'],
        run: async () => (await load()).removePeer,
      }),
    ],
  });
}

const levels = ['observe', 'learn', 'propose', 'act'] as const;

const trustOptions = { store: existingStore, json: jsonLines };
const decisionOptions = {
  ...trustOptions,
  by: value('name', 'name for the audit log', { default: 'cli' }),
};
const grantOptions = {
  ...decisionOptions,
  level: value<(typeof levels)[number]>('level', 'trust level', { choices: levels }),
  skill: values('id', 'additional skills to approve'),
};
const auditOptions = {
  ...trustOptions,
  limit: value('count', 'maximum number to print', { default: 100, parse: count }),
};
export type TrustOptions = OptionsOf<typeof trustOptions>;
export type DecisionOptions = OptionsOf<typeof decisionOptions>;
export type GrantOptions = OptionsOf<typeof grantOptions>;
export type AuditOptions = OptionsOf<typeof auditOptions>;

export function trustCommand(): Command {
  const load = () => import('../trust.ts');
  const proposalId = operand('<id>', 'id as printed by proposals');
  return command('trust', {
    summary: 'manage what callers of an agent may do, and which peers it may answer',
    notes: `Levels: observe (requests are recorded), learn (information is stored), propose (requests wait for your
approval), act (approved skills run). Every caller starts at observe; callers that don't authenticate
stay there.`,
    commands: [
      command('list', {
        summary: 'list known callers with level, approved skills and interactions',
        options: trustOptions,
        examples: ['legate trust list --json'],
        run: async () => (await load()).listTrust,
      }),
      command('grant', {
        summary: 'set the level of a caller or peer and approve skills',
        operands: [
          operand('<caller>', 'method:subject or method:tenant:subject, as printed by list'),
        ],
        options: grantOptions,
        examples: [
          'legate trust grant message-token:alice --level act --skill negotiate-meeting',
          'legate trust grant peer:bob --level act --skill negotiate-meeting   (our agent may answer bob)',
        ],
        run: async () => (await load()).grantTrust,
      }),
      command('revoke', {
        summary: 'revoke approved skills; without --skill, all of them and the level',
        operands: [operand('<caller>', 'as printed by list')],
        options: { ...decisionOptions, skill: values('id', 'revoke only these skills') },
        examples: ['legate trust revoke message-token:alice --skill negotiate-meeting'],
        run: async () => (await load()).revokeTrust,
      }),
      command('proposals', {
        summary: 'list requests that wait for your approval',
        options: trustOptions,
        examples: ['legate trust proposals'],
        run: async () => (await load()).listProposals,
      }),
      command('approve', {
        summary: 'approve a proposal and run it',
        operands: [proposalId],
        options: decisionOptions,
        examples: ['legate trust approve 01a1…'],
        run: async () => (await load()).decideProposal('approve'),
      }),
      command('refuse', {
        summary: 'reject a proposal',
        operands: [proposalId],
        options: decisionOptions,
        examples: ['legate trust refuse 01a1…'],
        run: async () => (await load()).decideProposal('refuse'),
      }),
      command('audit', {
        summary: 'print the audit log, newest first',
        options: auditOptions,
        examples: ['legate trust audit --limit 20'],
        run: async () => (await load()).showAudit,
      }),
    ],
  });
}

const declareOptions = {
  ...bus,
  name: busName,
  announce: flag(
    'also announce its card, for a day; needs the module or folder, not just the name',
  ),
  migrate: flag(
    'replace queues that exist with other arguments; keeps their messages, needs its workers stopped',
  ),
  json: jsonLines,
};
const managementUrl = value(
  'url',
  'management API of RabbitMQ (default: bus.management_url, or port 15672 of the broker)',
);
const statusOptions = {
  ...bus,
  oldest: flag(
    'look up the age of the oldest message also in quorum queues; counts as one of its 20 deliveries',
  ),
  managementUrl,
  json: jsonLines,
};
const yes = flag('do not ask');
const purgeOptions = {
  ...bus,
  dead: flag('its dead letters, not its waiting tasks'),
  yes,
  json: jsonLines,
};
const deleteOptions = { ...bus, managementUrl, yes, json: jsonLines };
const deadListOptions = {
  ...bus,
  limit: value('count', 'maximum number to list', { default: 100, parse: count }),
  bodies: flag('include the message bodies'),
  json: jsonLines,
};
const deadReplayOptions = { ...bus, all: flag('replay all dead letters'), json: jsonLines };
const keyOptions = {
  out: value('folder', 'folder for {name}.pem and {name}.jwks.json', { default: '.' }),
};
export type DeclareOptions = OptionsOf<typeof declareOptions>;
export type StatusOptions = OptionsOf<typeof statusOptions>;
export type PurgeOptions = OptionsOf<typeof purgeOptions>;
export type DeleteOptions = OptionsOf<typeof deleteOptions>;
export type DeadListOptions = OptionsOf<typeof deadListOptions>;
export type DeadReplayOptions = OptionsOf<typeof deadReplayOptions>;
export type KeyOptions = OptionsOf<typeof keyOptions>;

export function busCommand(): Command {
  const load = () => import('../bus.ts');
  const dead = command('dead', {
    summary: 'list and replay dead letters',
    commands: [
      command('list', {
        summary: 'list the dead letters of an agent, oldest first',
        operands: [operand('<agent>', 'name of the agent or of a queue (legate.task.alice)')],
        options: deadListOptions,
        examples: [
          'legate bus dead list researcher',
          'legate bus dead list researcher --bodies --json',
        ],
        run: async () => (await load()).listDead,
      }),
      command('replay', {
        summary: 'move dead letters back to their queue',
        operands: [
          operand('<agent>', 'name of the agent or of a queue'),
          operand('[ids...]', 'ids as printed by "bus dead list"'),
        ],
        options: deadReplayOptions,
        examples: [
          'legate bus dead replay researcher 01a1… 01a2…',
          'legate bus dead replay researcher --all',
        ],
        run: async () => (await load()).replayDead,
      }),
    ],
  });
  return command('bus', {
    summary: 'manage RabbitMQ queues, dead letters and signing keys',
    commands: [
      command('declare', {
        summary: 'create the queues of an agent, so that tasks wait while no worker runs',
        operands: [
          operand('<agent>', 'name of the agent, or its module or folder as for "legate work"'),
        ],
        options: declareOptions,
        notes: `Prints each exchange and queue, and whether it was made, present or differs: a queue of another version
or configuration has other arguments, and is used as it is until --migrate replaces it. Exits with 1 if
a queue differs.

Run it as a user who may configure queues; workers then need no such permission.`,
        examples: [
          'legate bus declare researcher',
          'legate bus declare ./researcher.ts --announce',
          'legate bus declare researcher --migrate',
        ],
        run: async () => (await load()).declareAgent,
      }),
      command('status', {
        summary: 'show agents, their queues and what waits in them',
        operands: [operand('[agents...]', 'names of agents (default: all, by the management API)')],
        options: statusOptions,
        notes: `Unacknowledged messages, and the list of all agents, come from the management API (plugin
rabbitmq_management), with the user and password of the bus.`,
        examples: ['legate bus status', 'legate bus status researcher --json'],
        run: async () => (await import('../bus-status.ts')).busStatus,
      }),
      command('purge', {
        summary: 'delete the waiting tasks of an agent, or its dead letters',
        operands: [operand('<agent>', 'name of the agent or of a queue')],
        options: purgeOptions,
        examples: ['legate bus purge researcher --dead'],
        run: async () => (await load()).purgeQueue,
      }),
      command('delete', {
        summary: 'delete the queues of an agent with all messages',
        operands: [operand('<agent>', 'name of the agent or of a queue')],
        options: deleteOptions,
        examples: ['legate bus delete researcher'],
        run: async () => (await load()).deleteQueues,
      }),
      dead,
      command('key', {
        summary: 'create a key pair for signing the messages of an agent or gateway',
        operands: [operand('<name>', 'name of the agent or gateway')],
        options: keyOptions,
        notes: `The .pem file is the private key (bus.signing_key of its owner). Give the .jwks.json file to the agents that
verify its messages (bus.trusted).`,
        examples: ['legate bus key gateway --out keys'],
        run: async () => (await load()).makeKey,
      }),
    ],
  });
}
