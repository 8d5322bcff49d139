import { signal } from '@preact/signals';
import type { FlowView } from '../../../src/http/inspector/model.ts';
import { get, path } from '../api/api.ts';

/** The flows of each assistant, loaded on first use. */
const known = signal<ReadonlyMap<string, readonly FlowView[]>>(new Map());
const asked = new Set<string>();

export function flowsOf(assistant: string): readonly FlowView[] {
  const flows = known.value.get(assistant);
  if (flows === undefined && !asked.has(assistant)) void loadFlows(assistant);
  return flows ?? [];
}

/** The model may have been replaced. */
export async function loadFlows(assistant: string): Promise<void> {
  asked.add(assistant);
  try {
    const flows = await get<readonly FlowView[]>(path`assistants/${assistant}/flows`);
    known.value = new Map([...known.peek(), [assistant, flows]]);
  } catch {
    // No model is loaded yet: the next access retries.
    asked.delete(assistant);
  }
}
