import { serviceOperations } from '../service/index.ts';
import { mcpEndpoint } from '../tasks/index.ts';
import type { Channel } from './channel.ts';
import { admitRequest, authenticateRequest } from './request.ts';

/**
 * Serves the agent as an MCP server on its port, with the callers, limits, tasks and conversations of its
 * A2A endpoints.
 */
export function mcpChannel(path: string): Channel {
  return {
    name: 'mcp',
    async mount({ agent, cards, guard, route, service }) {
      const { engine, limits, logger } = service;
      const tasks = {
        stream: serviceOperations.sendStreamingMessage.perform.bind(undefined, service),
        getTask: engine.getTask.bind(engine),
        listTasks: engine.listTasks.bind(engine),
        cancelTask: engine.cancelTask.bind(engine),
      };
      const { version } = cards.current;
      const { maxBodyBytes } = limits;
      const mcp = await mcpEndpoint(agent, async () => tasks, { version, logger, maxBodyBytes });
      route('*', path, async ({ request, response, query }) => {
        guard(request, response);
        const caller = await authenticateRequest(service, request, response, query);
        using _permit = await admitRequest(service, request, response, caller);
        await mcp.handle(request, response, caller);
      });
      return { [Symbol.asyncDispose]: () => mcp.close() };
    },
  };
}
