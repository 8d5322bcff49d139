/** The sample server as a program. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { sampleServer } from './sample-server.ts';

const { SAMPLE = 'nothing', LEGATE_TEST_SECRET = 'no secret' } = process.env;
process.stderr.write(`started with ${SAMPLE} and ${LEGATE_TEST_SECRET}\n`);
serveStdio(() => sampleServer());
