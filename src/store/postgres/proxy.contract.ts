import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands between a store and its database, and plays the part of a bad network. */
export interface BadNetwork extends AsyncDisposable {
  /** The address of the database through this network. */
  readonly url: string;
  /** Whether answers get through; those that do not are lost for good. */
  answers: 'pass' | 'lose';
  /** Milliseconds that every answer takes longer. */
  latencyMs: number;
  /** Breaks every connection. */
  cut(): void;
  /** Breaks the oldest connection, and all new ones. */
  cutOldest(): void;
  /**
   * Leaves every connection half open, for good: nothing gets through, and no end hears of it. So it
   * is with new ones until the returned function is called.
   */
  stall(): () => void;
}

export async function badNetwork(url: string): Promise<BadNetwork> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const network = { answers: 'pass' as BadNetwork['answers'], latencyMs: 0 };
  /** Connections made before are dead. */
  let generation = 0;
  let isStalled = false;
  let takesConnections = true;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    if (!takesConnections) return void near.destroy();
    const far = connect(Number(target.port), target.hostname);
    keep(near);
    keep(far);
    const born = generation;
    const held: (() => void)[] = [];
    let lastPass = 0;
    const isDead = (): boolean => isStalled || born !== generation;
    near.on('data', (data) => {
      if (!isDead()) far.write(data);
    });
    far.on('data', (data) => {
      const pass = (): void => {
        if (network.answers === 'pass' && !isDead()) near.write(data);
      };
      // None may overtake those before it, though the latency has become less.
      const now = performance.now();
      lastPass = Math.max(lastPass, now + network.latencyMs);
      held.push(pass);
      setTimeout(() => held.shift()?.(), lastPass - now);
    });
    far.on('close', () => {
      if (!isDead()) near.destroy();
    });
    near.on('close', () => {
      if (!isDead()) far.destroy();
    });
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
    get latencyMs() {
      return network.latencyMs;
    },
    set latencyMs(latencyMs) {
      network.latencyMs = latencyMs;
    },
    stall: () => {
      generation += 1;
      isStalled = true;
      // A socket that is not read does not notice that its peer closes it.
      for (const socket of sockets) socket.pause();
      return () => {
        // Those that were made meanwhile never got an answer either.
        generation += 1;
        isStalled = false;
      };
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    cutOldest: () => {
      takesConnections = false;
      const [oldest] = sockets;
      oldest?.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
