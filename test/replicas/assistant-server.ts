/**
 * One replica of an assistant for tests, on PostgreSQL. Its arguments are the project's folder and the
 * database; it tells its parent of its port.
 */
import { serveAssistant } from '../../src/assistant/index.ts';

const [directory = '', database = ''] = process.argv.slice(2);
const serving = await serveAssistant({
  places: { directory },
  store: { type: 'postgres', url: database },
  enableApi: true,
  port: 0,
});
process.once('SIGTERM', () => void serving.close().then(() => process.exit(0)));
process.send?.({ port: serving.port });
