import { LegateError } from '../protocol/index.ts';
import ipaddr from 'ipaddr.js';

/** Networks of recent addresses: a connection brings many requests from one address. */
const networks = new Map<string, string>();
const maxNetworks = 1_000;

/**
 * The network that limits count as one client: an IPv4 address, or the /64 network of an IPv6 address,
 * since one IPv6 host has all of its addresses.
 */
export function networkOf(address: string): string {
  const known = networks.get(address);
  if (known !== undefined) return known;
  const found = parseNetwork(address);
  if (networks.size >= maxNetworks) networks.clear();
  networks.set(address, found);
  return found;
}

function parseNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}

/** The process holds as many bytes of unfinished request bodies as it may. */
export class BodyBudgetExceeded extends LegateError {
  constructor() {
    super(
      'UNAVAILABLE',
      'the server is reading as many request bodies as it has memory for; send the request again',
      { retryAfter: 1 },
    );
  }
}

/** A body that is being read. Dispose of it when the body is complete or abandoned. */
export interface BodyReading extends Disposable {
  /**
   * Charges bytes that arrived, while all bodies together hold at most `limit` bytes. False when this
   * body has to be refused.
   */
  charge(bytes: number, limit: number): boolean;
}

/**
 * Counts the bytes of all unfinished request bodies of the process.
 *
 * A client may use the whole budget while nobody else needs it. When the budget is used up, the
 * client that holds the most loses its largest body, so a client always gets its share, whatever the
 * others hold. Clients are told apart by network (`networkOf`).
 */
export class BodyBudget {
  #held = 0;
  readonly #clients = new Map<string, Client>();

  /** Bytes held by unfinished bodies. */
  get held(): number {
    return this.#held;
  }

  /** `refuse` is called at most once, when the body has to make room for another client. */
  open(address: string, refuse: (error: BodyBudgetExceeded) => void): BodyReading {
    const network = networkOf(address);
    let client = this.#clients.get(network);
    if (client === undefined) this.#clients.set(network, (client = new Client()));
    const body: Body = { bytes: 0, refuse };
    const owner = client;
    owner.bodies.add(body);
    return {
      charge: (bytes, limit) => {
        if (!owner.bodies.has(body) || !this.#makeRoom(owner, bytes, limit)) return false;
        this.#held += bytes;
        owner.bytes += bytes;
        body.bytes += bytes;
        return true;
      },
      [Symbol.dispose]: () => {
        this.#release(owner, body);
        if (owner.bodies.size === 0 && this.#clients.get(network) === owner) {
          this.#clients.delete(network);
        }
      },
    };
  }

  #makeRoom(asking: Client, bytes: number, limit: number): boolean {
    while (this.#held + bytes > limit) {
      const most = this.#largestBesides(asking);
      if (most === undefined || most.bytes <= asking.bytes + bytes) return false;
      const victim = most.largestBody();
      this.#release(most, victim);
      victim.refuse(new BodyBudgetExceeded());
    }
    return true;
  }

  #largestBesides(asking: Client): Client | undefined {
    let most: Client | undefined;
    for (const client of this.#clients.values()) {
      if (client !== asking && client.bytes > (most?.bytes ?? 0)) most = client;
    }
    return most;
  }

  #release(client: Client, body: Body): void {
    if (!client.bodies.delete(body)) return;
    client.bytes -= body.bytes;
    this.#held -= body.bytes;
  }
}

interface Body {
  bytes: number;
  readonly refuse: (error: BodyBudgetExceeded) => void;
}

class Client {
  /** Of all its bodies. */
  bytes = 0;
  readonly bodies = new Set<Body>();

  /** Only asked of a client that holds some. */
  largestBody(): Body {
    return [...this.bodies].reduce((most, body) => (body.bytes > most.bytes ? body : most));
  }
}
