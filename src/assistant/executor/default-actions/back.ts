import type { Dialogue } from '../dialogue.ts';
import { formerEvents, takeBack } from '../take-back.ts';

/** Takes back the message that asked for it and the one before, then listens. */
export async function goBack(dialogue: Dialogue): Promise<void> {
  const former = await formerEvents(dialogue);
  for (let messages = 0; messages < 2; messages += 1) {
    takeBack(dialogue, { event: 'rewind' }, former);
  }
}
