import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A server for tests, with one tool for each outcome of a call. */
export function sampleServer(calls: Record<string, number> = {}): McpServer {
  const count = (name: string): void => {
    calls[name] = (calls[name] ?? 0) + 1;
  };
  const server = new McpServer({ name: 'sample', version: '1' }, { capabilities: { tools: {} } });
  server.registerTool(
    'add',
    {
      description: 'Adds numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => {
      count('add');
      return {
        content: [{ type: 'text', text: String(a + b) }],
        structuredContent: { sum: a + b },
      };
    },
  );
  server.registerTool(
    'meta.echo',
    { description: 'Tells what came along as _meta.', inputSchema: z.object({}) },
    (_, { mcpReq }) => {
      const { progressToken: _token, ...meta } = mcpReq._meta ?? {};
      return { content: [{ type: 'text', text: JSON.stringify(meta) }] };
    },
  );
  server.registerTool(
    'picture',
    { description: 'Gives a picture.', inputSchema: z.object({}) },
    () => ({
      content: [
        { type: 'text', text: 'here' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        {
          type: 'resource',
          resource: { uri: 'file:///a', text: 'inside', mimeType: 'text/plain' },
        },
        { type: 'resource_link', uri: 'https://example.com/b', name: 'b' },
      ],
    }),
  );
  server.registerTool('fail', { description: 'Fails.', inputSchema: z.object({}) }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'no such file' }],
  }));
  server.registerTool(
    'hang',
    { description: 'Never answers.', inputSchema: z.object({}) },
    (_, { mcpReq }) => {
      count('hang');
      return new Promise((resolve) => {
        mcpReq.signal.addEventListener('abort', () => {
          count('hang aborted');
          resolve({ content: [] });
        });
      });
    },
  );
  server.registerTool('die', { description: 'Dies.', inputSchema: z.object({}) }, () => {
    process.exit(1);
  });
  return server;
}
