import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import { step as stepSchema, stepsExtension } from '../steps/step.ts';
import type { OpenStep } from '../steps/step-log.ts';

/** Maximum steps of one remote task, and maximum characters of one step as JSON. Others are left out. */
const maxSteps = 500;
const maxStepSize = 65_536;

/** The metadata without steps; undefined if nothing is left. */
export function withoutSteps(metadata: JsonObject | undefined): JsonObject | undefined {
  if (metadata === undefined || !Object.hasOwn(metadata, stepsExtension)) return metadata;
  const { [stepsExtension]: _, ...rest } = metadata;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/**
 * Records the steps that a remote agent shares as steps within ours, so that they are visible here,
 * too.
 */
export class RemoteSteps {
  readonly #hop: OpenStep;
  /** By their ids at the remote agent. */
  readonly #open = new Map<number, OpenStep>();

  constructor(hop: OpenStep) {
    this.#hop = hop;
  }

  note(metadata: JsonObject | undefined): void {
    const value = metadata?.[stepsExtension];
    if (value === undefined || !isBounded(value)) return;
    const { success, data } = stepSchema.safeParse(value);
    if (!success) return;
    const { id, parent, kind, name, state, model, tool, remote, detail, isReplayed } = data;
    const known = {
      ...(model !== undefined && { model }),
      ...(tool !== undefined && { tool }),
      ...(remote !== undefined && { remote }),
      ...(detail !== undefined && { detail }),
      ...(isReplayed !== undefined && { isReplayed }),
    };
    let open = this.#open.get(id);
    if (open === undefined) {
      if (this.#open.size >= maxSteps) return;
      const within = parent === undefined ? this.#hop : (this.#open.get(parent) ?? this.#hop);
      // Times are from the local clock.
      open = within.steps.start({ kind, name, ...known });
      this.#open.set(id, open);
    }
    if (state !== 'running') open.end({ state, ...known });
  }
}

function isBounded(value: JsonValue): boolean {
  return isJsonObject(value) && JSON.stringify(value).length <= maxStepSize;
}
