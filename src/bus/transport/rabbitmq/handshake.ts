/**
 * The first frames of a connection, to which the client library gives no access: they contain the
 * properties of the server, and the authentication mechanism.
 */
import type { Socket } from 'node:net';

/** The properties that a broker reports. */
export interface ServerProperties {
  readonly product: string;
  readonly version: string;
}

/** Type, channel and size before the payload of a frame. */
const startBytes = 7;
const methodFrame = 1;
/** Class `connection`, and its first methods. */
const start = { class: 10, method: 10 };
const startOk = { class: 10, method: 11 };

/** Whether a frame is this method, on channel 0. */
function isMethod(frame: Buffer, { class: classId, method }: typeof start): boolean {
  return (
    frame.length > startBytes + 4 &&
    frame.readUInt8(0) === methodFrame &&
    frame.readUInt16BE(1) === 0 &&
    frame.readUInt16BE(startBytes) === classId &&
    frame.readUInt16BE(startBytes + 2) === method
  );
}

/** The properties in a frame `connection.start`; undefined for all other frames. */
export function readServerProperties(frame: Buffer): ServerProperties | undefined {
  if (!isMethod(frame, start)) return undefined;
  // Class, method, and the version of the protocol.
  const tableStart = startBytes + 4 + 2;
  const end = tableStart + 4 + frame.readUInt32BE(tableStart);
  const texts = new Map<string, string>();
  let offset = tableStart + 4;
  while (offset < Math.min(end, frame.length)) {
    const nameEnd = offset + 1 + frame.readUInt8(offset);
    const name = frame.toString('utf8', offset + 1, nameEnd);
    const type = String.fromCharCode(frame.readUInt8(nameEnd));
    // RabbitMQ sends strings and tables here, and booleans inside of the tables.
    if (type !== 'S' && type !== 'F') break;
    const valueEnd = nameEnd + 5 + frame.readUInt32BE(nameEnd + 1);
    if (type === 'S') texts.set(name, frame.toString('utf8', nameEnd + 5, valueEnd));
    offset = valueEnd;
  }
  return { product: texts.get('product') ?? 'unknown', version: texts.get('version') ?? '' };
}

/** The frame `connection.start-ok` with the mechanism EXTERNAL; undefined for all other frames. */
export function withExternal(frame: Buffer): Buffer | undefined {
  if (!isMethod(frame, startOk)) return undefined;
  const tableStart = startBytes + 4;
  const tableEnd = tableStart + 4 + frame.readUInt32BE(tableStart);
  const mechanismEnd = tableEnd + 1 + frame.readUInt8(tableEnd);
  const responseEnd = mechanismEnd + 4 + frame.readUInt32BE(mechanismEnd);
  const mechanism = Buffer.from('\u0008EXTERNAL', 'latin1');
  const noResponse = Buffer.alloc(4);
  const payload = Buffer.concat([
    frame.subarray(startBytes, tableEnd),
    mechanism,
    noResponse,
    frame.subarray(responseEnd, -1),
  ]);
  const head = Buffer.from(frame.subarray(0, startBytes));
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, frame.subarray(-1)]);
}

/**
 * Replaces the authentication mechanism in the frame that the client library writes to a new connection.
 * The library writes one frame at a time until the server has answered.
 */
export function answerExternally(socket: Socket): void {
  const write = socket.write.bind(socket);
  socket.write = (chunk: string | Uint8Array): boolean => {
    const replaced = Buffer.isBuffer(chunk) ? withExternal(chunk) : undefined;
    if (replaced !== undefined) socket.write = write;
    return write(replaced ?? chunk);
  };
}
