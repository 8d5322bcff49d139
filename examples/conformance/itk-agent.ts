/**
 * `node examples/conformance/itk-agent.ts --httpPort 10101 --grpcPort 10102`: an agent for the
 * integration test kit of the A2A project (a2a-itk). It executes the instruction in a message: answers
 * with a text, runs several steps, or calls another agent with an instruction.
 */
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { agent, completed, failed, type Turn, working } from '../../src/agents/index.ts';
import { type BindingName, type Client, connect } from '../../src/client/index.ts';
import { grpcBinding, grpcChannel } from '../../src/grpc/index.ts';
import { router } from '../../src/http/index.ts';
import {
  LegateError,
  type Message,
  type Part,
  type StreamResponse,
} from '../../src/protocol/index.ts';
import { type Call, type Instruction, readInstruction } from './itk-instruction.ts';

const { values } = parseArgs({
  options: {
    httpPort: { type: 'string', default: '10101' },
    grpcPort: { type: 'string', default: '10102' },
    // The file encoding of the 0.3 agents of the cluster: `twice` for Python, and Go over gRPC.
    legacyFileBytes: { type: 'string', default: 'once' },
  },
});
const port = Number(values.httpPort);
const url = `http://127.0.0.1:${port}`;
const legacyFileBytes = values.legacyFileBytes === 'twice' ? 'twice' : 'once';

/** Ends the text of a task that stays open for subscribers. */
const finishedMark = 'task-finished';
/** How long a task stays open, in milliseconds, and how often it reports progress. */
const holdMs = 10_000;
const reportMs = 2_000;

const traveller = agent(
  { name: 'Legate ITK agent', inputModes: ['*/*'], serialise: 'task' },
  async function* (turn) {
    yield working();
    const instruction = instructionOf(turn.message);
    if (instruction === undefined) return yield failed('There is no instruction in the message.');
    const text = (await follow(instruction, turn)).join('\n');
    if (isHeld(instruction)) {
      yield working(`${text}\n${finishedMark}`);
      for (let time = 0; time < holdMs; time += reportMs) {
        await wait(reportMs, undefined, { signal: turn.signal });
        yield working();
      }
    }
    return yield completed(text);
  },
);

function instructionOf({ parts }: Message): Instruction | undefined {
  const part = parts.find(({ raw, text }) => raw !== undefined || text !== undefined);
  const bytes = part?.raw ?? part?.text;
  return bytes === undefined ? undefined : readInstruction(Buffer.from(bytes, 'base64'));
}

function isHeld(instruction: Instruction): boolean {
  if (instruction.kind === 'steps') return instruction.steps.some(isHeld);
  return instruction.kind === 'answer' && instruction.isHeld;
}

async function follow(instruction: Instruction, turn: Turn): Promise<readonly string[]> {
  switch (instruction.kind) {
    case 'answer':
      return [instruction.text];
    case 'steps': {
      const results: string[] = [];
      for (const step of instruction.steps) results.push(...(await follow(step, turn)));
      return results;
    }
    case 'call':
      return callAgent(instruction, turn);
  }
}

const bindings: Readonly<Record<string, BindingName>> = {
  JSONRPC: 'JSONRPC',
  GRPC: 'GRPC',
  'HTTP+JSON': 'HTTP+JSON',
  HTTP_JSON: 'HTTP+JSON',
  REST: 'HTTP+JSON',
};

async function callAgent(call: Call, { signal }: Turn): Promise<readonly string[]> {
  const client = await connect(call.agent, {
    signal,
    binding: bindings[call.transport.toUpperCase()] ?? 'JSONRPC',
    bindings: [grpcBinding()],
    legacyFileBytes,
  });
  const file: Part = {
    raw: call.instruction.toString('base64'),
    mediaType: 'application/x-protobuf',
    filename: 'instruction.bin',
  };
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [file] } as const;
  const { webhook } = call;
  const push =
    webhook === undefined ? undefined : { url: `${webhook}/notifications`, token: 'itk' };
  const request = {
    message,
    ...(push !== undefined && { configuration: { taskPushNotificationConfig: push } }),
  };
  if (call.resubscribes) return resubscribe(client, request, signal);
  if (!call.isStreamed) return textsOf(await client.sendMessage(request, { signal }));
  const texts: string[] = [];
  for await (const event of client.sendStreamingMessage(request, { signal })) {
    texts.push(...textsOf(event.response));
  }
  return texts;
}

/** Leaves the stream at its first event, subscribes to the task, and cancels it after its answer. */
async function resubscribe(
  client: Client,
  request: { readonly message: Message },
  signal: AbortSignal,
): Promise<readonly string[]> {
  let id = '';
  for await (const { response } of client.sendStreamingMessage(request, { signal })) {
    if ('task' in response) ({ id } = response.task);
    else if ('statusUpdate' in response) id = response.statusUpdate.taskId;
    break;
  }
  const texts: string[] = [];
  for await (const { response } of client.subscribeToTask(id, { signal })) {
    const said = textsOf(response);
    texts.push(...said.map((text) => text.replace(finishedMark, '')));
    if (said.some((text) => text.includes(finishedMark))) break;
  }
  await client.cancelTask({ id }, { signal }).catch((error: unknown) => {
    if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
  });
  return texts;
}

/** The text of an agent's message, or of the status of its task. */
function textsOf(response: StreamResponse): readonly string[] {
  const message =
    'message' in response
      ? response.message
      : 'task' in response
        ? response.task.status.message
        : 'statusUpdate' in response
          ? response.statusUpdate.status.message
          : undefined;
  return (message?.parts ?? []).flatMap(({ text }) => text ?? []);
}

const { handler } = await router(traveller, {
  url,
  isLocalOnly: true,
  push: {},
  legacyFileBytes,
  channels: [grpcChannel({ port: Number(values.grpcPort) })],
});
createServer((request, response) => {
  // The kit posts its first request to /jsonrpc/.
  request.url = (request.url ?? '/').replace(/^\/jsonrpc\/?/, '/');
  handler(request, response);
}).listen(port, '127.0.0.1', () => console.log(`ITK agent: ${url}`));
