import type { Artifact } from '../../protocol/index.ts';
import type { Agent, ArtifactChunk } from '../agent.ts';
import { working } from '../define.ts';
import { renameArtifact, type ProgressEvent } from '../turn-output.ts';
import type { StepResult } from './workflow-run.ts';

/** How a step's artifacts are shown: as they are, under ids of the step, or not at all. */
export type ArtifactVisibility = 'as-is' | 'own' | 'none';

/** Passes on what a step says. What it said before its process died is said again. */
export async function* stepEvents(
  step: Agent,
  events: AsyncGenerator<ProgressEvent, StepResult>,
  artifacts: ArtifactVisibility,
): AsyncGenerator<ProgressEvent, StepResult> {
  yield working(undefined, { agent: step.name });
  for (;;) {
    const next = await events.next();
    if (next.done === true) {
      const result = next.value;
      if (result.isReplayed)
        for (const each of result.artifacts) yield* show(each, step, artifacts);
      return result;
    }
    yield* show(next.value, step, artifacts);
  }
}

function* show(
  event: ProgressEvent,
  step: Agent,
  artifacts: ArtifactVisibility,
): Generator<ProgressEvent> {
  if (!isArtifact(event) || artifacts === 'own') yield labelled(event, step.name);
  else if (artifacts === 'as-is') yield event;
}

/** An event of a step, for callers who see the steps side by side; `agent` tells the way to it. */
export function labelled(event: ProgressEvent, step: string, branch?: number): ProgressEvent {
  const told = isArtifact(event) ? artifactOf(event).metadata : event.metadata;
  const inner = told?.['agent'];
  const agent = typeof inner === 'string' ? `${step}/${inner}` : step;
  if (!isArtifact(event)) return { ...event, metadata: { ...event.metadata, agent } };
  const metadata = { agent, ...(branch !== undefined && { branch }) };
  return renameArtifact(event, (id) => `${step}/${id}`, metadata);
}

function artifactOf(event: Artifact | ArtifactChunk): Artifact {
  return 'kind' in event ? event.artifact : event;
}

function isArtifact(event: ProgressEvent): event is Artifact | ArtifactChunk {
  return !('kind' in event) || event.kind === 'chunk';
}
