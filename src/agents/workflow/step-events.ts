import type { Artifact } from '../../protocol/index.ts';
import type { Agent, ArtifactChunk } from '../agent.ts';
import { working } from '../define.ts';
import { renameArtifact, type ProgressEvent } from '../turn-output.ts';
import type { StepResult } from './workflow-run.ts';

/** How a step's artifacts are shown: as they are, under ids of the step, or not at all. */
export type ArtifactVisibility = 'as-is' | 'own' | 'none';

/** Yields the events of a step. Artifacts of a replayed step are yielded again. */
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

/** Labels an event with the path of its agent, so that callers can distinguish the steps. */
export function labelled(event: ProgressEvent, step: string, branch?: number): ProgressEvent {
  const metadataBefore = isArtifact(event) ? artifactOf(event).metadata : event.metadata;
  const inner = metadataBefore?.['agent'];
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
