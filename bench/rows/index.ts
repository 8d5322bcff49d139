import type { Row } from '../row.ts';
import { agents } from './agents.ts';
import { bank } from './bank.ts';
import { bus } from './bus.ts';
import { chunks } from './chunks.ts';
import { get } from './get.ts';
import { inspector } from './inspector.ts';
import { invocations } from './invocations.ts';
import { manyTasks } from './many-tasks.ts';
import { million } from './million.ts';
import { packaged } from './package.ts';
import { postgres } from './postgres.ts';
import { push } from './push.ts';
import { search } from './search.ts';
import { send, sendSqlite } from './send.ts';
import { replicas } from './replicas.ts';
import { silentReader } from './silent-reader.ts';
import { slowDisk } from './slow-disk.ts';
import { stream } from './stream.ts';
import { understanding } from './understanding.ts';

/** In the order of the report. */
export const rows: readonly Row[] = [
  send,
  stream,
  get,
  sendSqlite,
  slowDisk,
  postgres,
  replicas,
  chunks,
  manyTasks,
  million,
  silentReader,
  bank,
  understanding,
  search,
  push,
  bus,
  invocations,
  agents,
  inspector,
  packaged,
];
