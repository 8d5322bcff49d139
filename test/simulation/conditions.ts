import type { Fault } from './plan.ts';

/** What may go wrong with one replica's store at present. */
export interface StoreConditions {
  /** How much longer calls take. */
  factor: number;
  /** Share of calls that fail. */
  failing: number;
  /** Of those, the share that took effect nevertheless. */
  late: number;
  /** Shares of notices. */
  lostNotices: number;
  repeatedNotices: number;
}

/** What may go wrong between one replica and the broker at present. */
export interface BusConditions {
  /** Share of messages that are refused, or whose receipt is lost. */
  failing: number;
  /** Of those, the share that arrived nevertheless. */
  late: number;
  /** Share of deliveries that come again though they were settled. */
  repeated: number;
}

/**
 * The weather of a world: what the faults that are in force add up to. Two faults of a kind in one
 * place: the later one holds until either ends.
 */
export class Conditions {
  readonly stores: readonly StoreConditions[];
  readonly buses: readonly BusConditions[];
  /** Share of answers to clients that are lost. */
  lostAnswers = 0;
  /** Share of webhook calls that fail. */
  failingWebhooks = 0;

  constructor(replicas: number) {
    this.stores = Array.from({ length: replicas }, () => ({
      factor: 1,
      failing: 0,
      late: 0,
      lostNotices: 0,
      repeatedNotices: 0,
    }));
    this.buses = this.stores.map(() => ({ failing: 0, late: 0, repeated: 0 }));
  }

  begin(fault: Fault): void {
    this.#set(fault, true);
  }

  end(fault: Fault): void {
    this.#set(fault, false);
  }

  #set(fault: Fault, isOn: boolean): void {
    switch (fault.kind) {
      case 'outage':
        for (const [index, store] of this.stores.entries()) {
          if (fault.replica !== undefined && fault.replica !== index) continue;
          store.failing = isOn ? fault.share : 0;
          store.late = fault.late;
        }
        break;
      case 'slow-store': {
        const store = this.stores[fault.replica];
        if (store !== undefined) store.factor = isOn ? fault.factor : 1;
        break;
      }
      case 'bad-notices': {
        const store = this.stores[fault.replica];
        if (store === undefined) break;
        store.lostNotices = isOn ? fault.lost : 0;
        store.repeatedNotices = isOn ? fault.repeated : 0;
        break;
      }
      case 'bad-bus': {
        const bus = this.buses[fault.replica];
        if (bus === undefined) break;
        bus.failing = isOn ? fault.failing : 0;
        bus.late = fault.late;
        bus.repeated = isOn ? fault.repeated : 0;
        break;
      }
      case 'bad-network':
        this.lostAnswers = isOn ? fault.share : 0;
        break;
      case 'bad-webhooks':
        this.failingWebhooks = isOn ? fault.share : 0;
        break;
      default:
        break;
    }
  }
}
