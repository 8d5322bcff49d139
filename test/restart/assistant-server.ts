/** A server for the tests of turns of assistants that outlive their process. */
import { serveAssistant } from '../../src/assistant/index.ts';

const [directory = ''] = process.argv.slice(2);
const server = await serveAssistant({ places: { directory }, drainMs: 0 });
process.send?.({ port: server.port });
