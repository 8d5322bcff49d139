import type { JsonObject } from '../../protocol/index.ts';
import { type ActionRunner, readActionResult } from '../actions/index.ts';

/** Answers for actions from a test; all others run as they do. */
export class StubbedActions implements ActionRunner {
  readonly #actions: ActionRunner | undefined;
  #stubs: ReadonlyMap<string, JsonObject> = new Map();

  constructor(actions: ActionRunner | undefined) {
    this.#actions = actions;
  }

  use(stubs: ReadonlyMap<string, JsonObject>): void {
    this.#stubs = stubs;
  }

  has(name: string): boolean {
    return this.#stubs.has(name) || this.#actions?.has(name) === true;
  }

  async run(call: Parameters<ActionRunner['run']>[0]): ReturnType<ActionRunner['run']> {
    const stub = this.#stubs.get(call.name);
    if (stub !== undefined) return readActionResult(JSON.stringify(stub), `stub of ${call.name}`);
    if (this.#actions !== undefined) return this.#actions.run(call);
    throw new Error(`no action ${call.name}: define it, or stub it in the test`);
  }
}
