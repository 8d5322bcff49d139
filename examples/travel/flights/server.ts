/** Flights, as an MCP server on standard input and output. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const flight = z.object({ number: z.string(), departure: z.string(), price: z.number() });

function flights(): McpServer {
  const server = new McpServer({ name: 'flights', version: '1' }, { capabilities: { tools: {} } });
  server.registerTool(
    'search_flights',
    {
      description: 'Lists the flights of tomorrow to a city, with prices in euros.',
      inputSchema: z.object({ destination: z.string() }),
      outputSchema: z.object({ flights: z.array(flight) }),
      annotations: { readOnlyHint: true },
    },
    () =>
      answer({
        flights: [
          { number: 'LG12', departure: '08:00', price: 80 },
          { number: 'LG34', departure: '14:00', price: 60 },
        ],
      }),
  );
  server.registerTool(
    'book_flight',
    {
      description: 'Books a flight by its number.',
      inputSchema: z.object({ flight: z.string() }),
      outputSchema: z.object({ booking: z.string() }),
    },
    ({ flight: number }) => answer({ booking: `B-${number}` }),
  );
  return server;
}

function answer<T extends object>(structuredContent: T) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }],
    structuredContent,
  };
}

serveStdio(flights);
