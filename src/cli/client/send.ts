import { readFileSync, statSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { present } from '../../config/index.ts';
import {
  errorMessage,
  file,
  type JsonValue,
  message,
  parseJson,
  type Part,
  type SendMessageRequest,
} from '../../protocol/index.ts';
import type { PartFlag, SendCommandOptions } from '../commands/agents.ts';
import { readAtMost, usage } from '../usage.ts';
import { calling } from './calling.ts';
import { followed } from './following.ts';
import { Output } from './output.ts';
import type { Session } from './session.ts';
import { notStreaming } from './tasks.ts';

/** Sends a message and prints the result. */
export async function send(
  words: readonly string[],
  flags: readonly PartFlag[],
  options: SendCommandOptions,
): Promise<void> {
  await calling(options, words, async (session) => {
    const request = await requestOf(session, flags, options);
    const client = await session.connect();
    const output = new Output(session);
    const { signal } = session;
    const { timeoutMs } = session.choices;
    const shown = request.configuration === undefined ? {} : { withHistory: true };
    const limits = timeoutMs === undefined ? {} : { timeoutMs };
    if (isAsync(session, options)) {
      const configuration = { ...request.configuration, returnImmediately: true };
      output.response(
        await client.sendMessage({ ...request, configuration }, { signal, ...limits }),
      );
      return;
    }
    const isStream = options.stream === true;
    if (isStream && client.card.capabilities.streaming !== true) {
      session.warn(notStreaming);
    }
    const events = client.sendStreamingMessage(request, { signal, ...limits });
    const isAnswer = request.message.taskId !== undefined;
    const what = 'agent';
    const result = await followed(events, { session, client, options, output, what, isAnswer });
    if (!isStream) output.response(result, shown);
    else if ('task' in result) output.endStream(result.task);
  });
}

function isAsync({ choices }: Session, options: SendCommandOptions): boolean {
  if (options.async === true || options.wait === false) return true;
  return options.wait !== true && options.stream !== true && choices.isSet('async');
}

async function requestOf(
  { choices }: Session,
  flags: readonly PartFlag[],
  { messageId }: SendCommandOptions,
): Promise<SendMessageRequest> {
  const { operands, contextId, taskId, metadata, historyLength } = choices;
  return {
    message: message(await partsOf(operands, flags), {
      ...present({ messageId, contextId, taskId, metadata }),
    }),
    ...present({ metadata }),
    ...(historyLength !== undefined && { configuration: { historyLength } }),
  };
}

const mebibyte = 1024 * 1024;
/** Send larger files by URL. */
const maxPartBytes = 64 * mebibyte;

/** Default media types by file extension. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
};

/** The parts of a message, in the order of the command line: the text first, then the flags. */
export async function partsOf(
  words: readonly string[],
  flags: readonly PartFlag[],
): Promise<readonly Part[]> {
  const input = new StandardInput();
  const parts: Part[] = [];
  if (words.length === 1 && words[0] === '-') parts.push({ text: await input.text('the text') });
  else if (words.length > 0) parts.push({ text: words.join(' ') });
  for (const flag of flags) parts.push(await partOf(flag, input));
  if (parts.length === 0 && !process.stdin.isTTY)
    parts.push({ text: await input.text('the text') });
  const only = parts.length === 1 ? parts[0]?.text : undefined;
  if (parts.length === 0 || only?.trim() === '') {
    throw usage(
      'no message given: add text, --text, --file or --data, or pipe text to standard input',
    );
  }
  return parts;
}

async function partOf({ kind, value, mediaType }: PartFlag, input: StandardInput): Promise<Part> {
  const given = mediaType === undefined ? {} : { mediaType };
  if (kind === 'text') return { text: value, ...given };
  if (kind === 'data') {
    const text = value === '-' ? await input.text('--data -') : dataText(value);
    return { data: await dataOf(text, value), ...given };
  }
  if (/^https?:\/\//i.test(value)) {
    const filename = basename(URL.parse(value)?.pathname ?? '');
    return file({ url: value, ...(filename !== '' && { filename }), ...given });
  }
  const bytes = value === '-' ? await input.bytes('--file -') : read(value);
  const type = mediaType ?? mediaTypes[extname(value).toLowerCase()] ?? 'application/octet-stream';
  return file({ bytes, mediaType: type, ...(value !== '-' && { filename: basename(value) }) });
}

/** Data can be given inline or in a file. */
function dataText(value: string): string {
  return /^\s*[[{]/.test(value) ? value : read(value).toString('utf8');
}

async function dataOf(text: string, source: string): Promise<JsonValue> {
  try {
    const { z } = await import('zod');
    return z.json().parse(parseJson(text));
  } catch (error) {
    const why = errorMessage(error);
    throw usage(`--data ${source.slice(0, 60)} is not JSON: ${why}`);
  }
}

function read(path: string): Buffer {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true) throw usage(`there is no file ${path}`);
  if (found.size > maxPartBytes) {
    throw usage(`${path} is larger than ${maxPartBytes / mebibyte} MiB; send its URL instead`);
  }
  return readFileSync(path);
}

/** Standard input, which can be read only once. */
class StandardInput {
  #isRead = false;

  async text(what: string): Promise<string> {
    return (await this.bytes(what)).toString('utf8').replace(/\r?\n$/, '');
  }

  async bytes(what: string): Promise<Buffer> {
    if (this.#isRead) throw usage(`${what}: standard input can be read only once`);
    this.#isRead = true;
    const bytes = await readAtMost(process.stdin, maxPartBytes);
    if (bytes === undefined)
      throw usage(`${what}: standard input is larger than ${maxPartBytes / mebibyte} MiB`);
    return bytes;
  }
}
