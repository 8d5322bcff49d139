import type { Store } from '../store/index.ts';

const pageSize = 500;

/**
 * The artifacts of a task whose last chunk had come when its log was `until` events long. A snapshot
 * does not tell, so it is read from the log: by the few turns that add to what an earlier one made.
 */
export async function sealedArtifacts(
  store: Pick<Store, 'readEvents'>,
  taskId: string,
  until: number,
): Promise<ReadonlySet<string>> {
  const sealed = new Set<string>();
  for (let after = 0; after < until;) {
    const events = await store.readEvents(taskId, after, Math.min(pageSize, until - after));
    if (events.length === 0) break;
    for (const { body, sequence } of events) {
      after = sequence;
      if (!('artifactUpdate' in body.value)) continue;
      const { artifact, lastChunk } = body.value.artifactUpdate;
      if (lastChunk === true) sealed.add(artifact.artifactId);
      else sealed.delete(artifact.artifactId);
    }
  }
  return sealed;
}
