import { GroupCommit } from './group-commit.ts';
import { Pipeline } from './pipeline.ts';
import type { Place } from './place.ts';
import { TrafficCount } from './traffic.ts';

/** The most milliseconds beyond the limit of a statement before its connection counts as dead. */
const answerMargin = 5_000;

/** The connections of one store, each kind for its own work, so that none holds up another. */
export class Connections {
  readonly traffic = new TrafficCount();
  /** Told of every write that failed. */
  onFailure: (failure: unknown) => void = () => {};
  /** Changes made for callers: one connection, all of its writes in order and grouped. */
  readonly writes: GroupCommit;
  readonly reads: Pipeline;
  /** What goes on beside the requests: heartbeats, take-overs, webhooks, sweeping. */
  readonly upkeep: Pipeline;

  constructor(
    place: Place,
    options: {
      readonly readConnections: number;
      readonly waitMs: number;
      readonly statementTimeoutMs: number;
    },
  ) {
    const common = {
      onFailure: (failure: unknown) => this.onFailure(failure),
      waitMs: options.waitMs,
      answerMs: options.statementTimeoutMs + Math.min(options.statementTimeoutMs, answerMargin),
      traffic: this.traffic,
    };
    this.writes = new GroupCommit(place, common);
    this.reads = new Pipeline(place, { ...common, connections: options.readConnections });
    this.upkeep = new Pipeline(place, { ...common, connections: 1 });
  }

  /** Resolves once changes can be made. */
  async open(): Promise<void> {
    await this.writes.open();
  }

  async close(): Promise<void> {
    await Promise.all([this.writes.close(), this.reads.close(), this.upkeep.close()]);
  }
}
