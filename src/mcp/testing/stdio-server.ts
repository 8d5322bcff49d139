/** The sample server as a program. Notes its start in the file `STARTS`, where there is one. */
import { appendFileSync } from 'node:fs';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { sampleServer } from './sample-server.ts';

const { SAMPLE = 'nothing', LEGATE_TEST_SECRET = 'no secret', STARTS } = process.env;
if (STARTS !== undefined) appendFileSync(STARTS, 'started\n');
process.stderr.write(`started with ${SAMPLE} and ${LEGATE_TEST_SECRET}\n`);
serveStdio(() => sampleServer());
