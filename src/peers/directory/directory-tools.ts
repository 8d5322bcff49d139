import { z } from 'zod';
import { type Tool, tool } from '../../agents/index.ts';
import { present } from '../../config/index.ts';
import type { Peer, PeerCredential } from './peer.ts';
import type { Directory } from './directory.ts';
import type { KnownToolServer } from './service-search.ts';

/** Options of the directory tools. */
export interface DirectoryToolsOptions {
  readonly directory: Directory;
  /** Tool servers, which searches find as well as agents. */
  readonly toolServers?: () => readonly KnownToolServer[] | Promise<readonly KnownToolServer[]>;
  /** Lets the model add and remove agents. @default false */
  readonly mayRegister?: boolean;
}

/** Tools for models: find other agents and, with `mayRegister`, add and remove them. */
export function directoryTools(options: DirectoryToolsOptions): readonly Tool[] {
  const { directory, mayRegister = false } = options;
  const reading = [
    tool({
      name: 'search_known_services',
      description:
        'Finds agents and tool servers that can do a task. Start here when you know what is to be done but not who can do it. relevance_score compares the results with each other; fit (0 to 1) says how well one matches at all.',
      input: z.object({ query: z.string().min(1).describe('The task, in a few words') }),
      isIdempotent: true,
      run: async ({ query }) => {
        const toolServers = (await options.toolServers?.()) ?? [];
        return { results: await directory.search(query, { toolServers }) };
      },
    }),
    tool({
      name: 'list_known_agents',
      description:
        'Lists the agents that can be called with invoke_agent, optionally only agents with a skill.',
      input: z.object({ skill: z.string().optional().describe('The id of a skill') }),
      isIdempotent: true,
      run: async ({ skill }) => {
        const peers = await directory.list(skill === undefined ? {} : { skill });
        if (peers.length > 0) return peers.map(shortForm);
        return skill === undefined
          ? 'No agents have announced themselves yet.'
          : `No agents found with skill '${skill}'.`;
      },
    }),
    tool({
      name: 'get_agent_details',
      description:
        'All that is known of one agent: its skills with tags and examples, and when it was last seen.',
      input: z.object({ agent_name: z.string() }),
      isIdempotent: true,
      run: async ({ agent_name }) => {
        const peer = await directory.find(agent_name);
        return peer === undefined
          ? `No agent named '${agent_name}' found in the directory.`
          : longForm(peer);
      },
    }),
    tool({
      name: 'refresh_agent_card',
      description: 'Fetches the card of an agent again, when its skills seem out of date.',
      input: z.object({ agent_name: z.string() }),
      isIdempotent: true,
      run: ({ agent_name }) => directory.refresh(agent_name),
    }),
  ];
  return mayRegister ? [...reading, ...registering(directory)] : reading;
}

function registering(directory: Directory): readonly Tool[] {
  return [
    tool({
      name: 'register_agent',
      description:
        'Adds an agent to the directory: by its address, from which its skills are fetched, or by its name alone when it is on the message bus.',
      input: z.object({
        agent_name: z.string().min(1).max(100),
        url: z.string().optional(),
        auth_header_name: z.string().optional(),
        auth_header_value_base64: z.string().optional(),
      }),
      run: async ({ agent_name, url, auth_header_name, auth_header_value_base64 }) => {
        if ((auth_header_name === undefined) !== (auth_header_value_base64 === undefined)) {
          return 'Give both auth_header_name and auth_header_value_base64, or neither.';
        }
        const credential: PeerCredential | undefined =
          auth_header_name === undefined || auth_header_value_base64 === undefined
            ? undefined
            : {
                headerName: auth_header_name,
                headerValue: Buffer.from(auth_header_value_base64, 'base64').toString('utf8'),
              };
        const peer = await directory.register({
          name: agent_name,
          ...present({ url, credential }),
        });
        return `Registered agent '${peer.name}' with ${peer.card.skills.length} skills.`;
      },
    }),
    tool({
      name: 'unregister_agent',
      description: 'Removes an agent that was registered or announced itself.',
      input: z.object({ agent_name: z.string() }),
      run: async ({ agent_name }) => {
        await directory.unregister(agent_name);
        return `Removed agent '${agent_name}'.`;
      },
    }),
  ];
}

function shortForm({ name, card, lastSeen }: Peer) {
  return {
    agentName: name,
    description: card.description,
    lastSeen,
    skills: card.skills.map(({ id, name: title, description }) => ({
      id,
      name: title,
      description,
    })),
  };
}

function longForm(peer: Peer) {
  const { name, card, url, hasCredential, origin, lastSeen } = peer;
  return {
    agentName: name,
    description: card.description,
    version: card.version,
    ...(url !== undefined && { url }),
    hasAuth: hasCredential,
    supportsStreaming: card.capabilities.streaming ?? false,
    isWellKnown: origin === 'well-known',
    lastSeen,
    skills: card.skills.map(({ id, name: title, description, tags, examples = [] }) => ({
      id,
      name: title,
      description,
      tags,
      examples,
    })),
  };
}
