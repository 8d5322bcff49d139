/** A server for the tests of what a process does before it goes: an agent elsewhere, as its own. */
import { remoteAgent } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';

const [url = ''] = process.argv.slice(2);
const server = await serve(remoteAgent(url, { name: 'relay' }), { drainMs: 0, cancelGraceMs: 50 });
process.once('message', () => {
  // The process ends when nothing is left to do, and by nothing else.
  void server.close().then(() => process.disconnect());
});
process.send?.({ port: server.port });
