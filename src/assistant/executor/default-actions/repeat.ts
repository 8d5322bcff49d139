import type { Dialogue } from '../dialogue.ts';

/** Says again what was said before the user asked to hear it again. */
export async function repeatBotMessages(dialogue: Dialogue): Promise<void> {
  for (const message of dialogue.tracker.state.spoken) await dialogue.say(message);
}
