/** An agent as an MCP server over standard input and output. */
import { agent, completed, textOf } from '../../agents/index.ts';
import { serveMcpStdio } from '../mcp/mcp-server.ts';

const counter = agent({ name: 'counter' }, async function* (turn) {
  const count = ((await turn.state.load())?.['count'] as number | undefined) ?? 0;
  const value = { count: count + 1 };
  yield completed(`${textOf(turn.message)} ${count + 1}`, { context: { value } });
});
await serveMcpStdio(counter);
