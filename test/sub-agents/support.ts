import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { loadProject, type Project } from '../../src/assistant/index.ts';
import { createHandlers } from '../../src/assistant/sub-agents/create-handlers.ts';
import { Conversation } from '../../src/assistant/testing/conversation.ts';
import type { ClientBinding } from '../../src/client/index.ts';
import { type HttpSample, startHttpSample } from '../../src/mcp/testing/http-server.ts';
import {
  createModels,
  type Script,
  type ScriptedModelServer,
  startScriptedModelServer,
} from '../../src/models/index.ts';
import type { Logger } from '../../src/telemetry/index.ts';

/** A trip with an agent that finds a hotel, and one flow beside it. */
export const trip: Readonly<Record<string, string>> = {
  'domain.yml': `
slots:
  city: {type: text}
  hotel: {type: categorical, values: [Ritz, Savoy], mappings: [{type: controlled}]}
  nights: {type: float, mappings: [{type: controlled}]}
  customer: {type: text, initial_value: ada, mappings: [{type: controlled}]}
  booking: {type: any, mappings: [{type: controlled}]}
  found: {type: any, mappings: [{type: controlled}]}
responses:
  utter_ask_city: [{text: "Which city?"}]
  utter_booked: [{text: "Booked {hotel}."}]
  utter_weather: [{text: "Sunny."}]
`,
  'data/flows.yml': `
flows:
  trip:
    name: planning a trip
    description: Plan a trip.
    run_pattern_completed: false
    steps:
      - collect: city
      - call: finder
        exit_if: [slots.hotel is not null]
      - action: utter_booked
  chat:
    name: travel advice
    description: Talk about travelling.
    run_pattern_completed: false
    steps:
      - call: finder
      - action: utter_booked
  weather:
    description: How is the weather?
    run_pattern_completed: false
    steps:
      - action: utter_weather
`,
};

export interface TalkOptions {
  /** Over those of the trip; undefined leaves one out. */
  readonly files?: Readonly<Record<string, string | undefined>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly bindings?: readonly ClientBinding[];
}

export interface Talk extends AsyncDisposable {
  readonly chat: Conversation;
  readonly project: Project;
  readonly directory: string;
  /** Waits between attempts, in milliseconds: nobody really waits. */
  readonly waits: readonly number[];
  readonly logged: readonly { readonly event: string; readonly fields: Record<string, unknown> }[];
}

/** A conversation with a project of these files, its sub agents included. */
export async function talk({
  files = {},
  environment = {},
  bindings = [],
}: TalkOptions): Promise<Talk> {
  const directory = await mkdtemp(join(tmpdir(), 'legate-sub-agents-'));
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    for (const [name, text] of Object.entries({ ...trip, ...files })) {
      if (text === undefined) continue;
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), text);
    }
    const { project, problems } = await loadProject({ directory }, environment);
    problems.throwIfErrors();
    const waits: number[] = [];
    const logged: { event: string; fields: Record<string, unknown> }[] = [];
    const note = (fields: object, event: string): void =>
      void logged.push({ event, fields: fields as Record<string, unknown> });
    const logger: Logger = {
      debug: note,
      info: note,
      warn: note,
      error: note,
      child: () => logger,
    };
    const models = createModels([...project.endpoints.modelGroups.values()], { environment });
    const callHandlers = await createHandlers(project, {
      models,
      logger,
      bindings: () => bindings,
      sleep: (milliseconds) => Promise.resolve(void waits.push(milliseconds)),
    });
    const chat = new Conversation(project, { callHandlers, logger });
    return {
      chat,
      project,
      directory,
      waits,
      logged,
      async [Symbol.asyncDispose]() {
        await chat.assistant.close({ graceMs: 2_000 });
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

export interface HotelServer extends HttpSample {
  /** What came along with each call of a tool. */
  readonly metas: readonly unknown[];
}

/** An MCP server that knows hotels. */
export async function startHotels(
  options: Pick<Parameters<typeof startHttpSample>[0] & object, 'guard'> = {},
): Promise<HotelServer> {
  const metas: unknown[] = [];
  const server = await startHttpSample({
    ...options,
    create: (calls) => {
      const mcp = new McpServer({ name: 'hotels', version: '1' }, { capabilities: { tools: {} } });
      const count = (name: string): void => {
        calls[name] = (calls[name] ?? 0) + 1;
      };
      mcp.registerTool(
        'find_hotels',
        {
          description: 'Finds hotels of a city.',
          inputSchema: z.object({ city: z.string() }),
          outputSchema: z.object({ hotels: z.array(z.string()) }),
        },
        ({ city }, { mcpReq }) => {
          count(`find_hotels ${city}`);
          const { progressToken: _, ...meta } = mcpReq._meta ?? {};
          metas.push(meta);
          const hotels = ['Ritz', 'Savoy'];
          return {
            content: [{ type: 'text', text: hotels.join(', ') }],
            structuredContent: { hotels },
          };
        },
      );
      mcp.registerTool(
        'book',
        {
          description: 'Books a hotel.',
          inputSchema: z.object({ hotel: z.string(), nights: z.number().optional() }),
          outputSchema: z.object({ booking: z.object({ id: z.number(), ok: z.boolean() }) }),
        },
        ({ hotel }, { mcpReq }) => {
          count(`book ${hotel}`);
          const { progressToken: _, ...meta } = mcpReq._meta ?? {};
          metas.push(meta);
          if (hotel === 'Savoy') {
            return { isError: true, content: [{ type: 'text', text: 'no room left' }] };
          }
          return { content: [], structuredContent: { booking: { id: 7, ok: true } } };
        },
      );
      mcp.registerTool(
        'say',
        { description: 'Answers with text.', inputSchema: z.object({}) },
        () => ({ content: [{ type: 'text', text: 'words' }] }),
      );
      mcp.registerTool(
        'hang',
        { description: 'Never answers.', inputSchema: z.object({}) },
        (_, { mcpReq }) =>
          new Promise((resolve) => {
            mcpReq.signal.addEventListener('abort', () => resolve({ content: [] }));
          }),
      );
      return mcp;
    },
  });
  return { ...server, metas };
}

export interface ReactTalk extends Talk {
  readonly model: ScriptedModelServer;
  readonly hotels: HotelServer;
}

/** The trip with a ReAct agent whose model answers by a script, over real HTTP and MCP. */
export async function reactTalk(
  script: Script,
  {
    configuration = '',
    connection = 'name: hotels',
    server = '',
    ...options
  }: TalkOptions & {
    readonly configuration?: string;
    readonly connection?: string;
    readonly server?: string;
  } = {},
): Promise<ReactTalk> {
  const model = await startScriptedModelServer(script);
  const hotels = await startHotels();
  const close = async (): Promise<void> => {
    await model.close();
    await hotels.close();
  };
  try {
    const one = await talk({
      ...options,
      files: {
        'endpoints.yml': `
model_groups:
  - id: main
    models: [{provider: self-hosted, model: scripted, api_base: "${model.url}", api_key: "\${KEY}"}]
mcp_servers:
  - {name: hotels, url: "${hotels.url}", type: http${server}}
`,
        'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel.}
configuration: {llm: {model_group: main}${configuration}}
connections: {mcp_servers: [{${connection}}]}
`,
        ...options.files,
      },
      environment: { KEY: 'none', ...options.environment },
    });
    return {
      ...one,
      model,
      hotels,
      async [Symbol.asyncDispose]() {
        await one[Symbol.asyncDispose]();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
