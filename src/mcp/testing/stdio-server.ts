/** The sample server as a program. On start, it appends a line to the file `STARTS`, if set. */
import { appendFileSync } from 'node:fs';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { sampleServer } from './sample-server.ts';

const { SAMPLE = 'nothing', LEGATE_TEST_SECRET = 'no secret', STARTS } = process.env;
if (STARTS !== undefined) appendFileSync(STARTS, 'started\n');
process.stderr.write(`started with ${SAMPLE} and ${LEGATE_TEST_SECRET}\n`);
serveStdio(() => sampleServer());
