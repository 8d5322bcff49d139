import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** Stands between a store and its database, and plays the part of a bad network. */
export interface BadNetwork extends AsyncDisposable {
  /** The address of the database through this network. */
  readonly url: string;
  /** Whether answers get through; those that do not are lost for good. */
  answers: 'pass' | 'lose';
  /** Breaks every connection. */
  cut(): void;
}

export async function badNetwork(url: string): Promise<BadNetwork> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const network = { answers: 'pass' as BadNetwork['answers'] };
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    keep(near);
    keep(far);
    near.pipe(far);
    far.on('data', (data) => {
      if (network.answers === 'pass') near.write(data);
    });
    far.on('close', () => near.destroy());
    near.on('close', () => far.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = new URL(url);
  address.port = String((server.address() as AddressInfo).port);
  return {
    url: address.href,
    get answers() {
      return network.answers;
    },
    set answers(answers) {
      network.answers = answers;
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
