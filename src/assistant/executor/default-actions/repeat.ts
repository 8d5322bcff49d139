import type { Dialogue } from '../dialogue.ts';

/** Said where there is nothing to repeat: a first message such as "what?" asks for help. */
const HELP = 'utter_small_talk_capabilities';

/** Repeats what was said before the user asked to hear it again. */
export async function repeatBotMessages(dialogue: Dialogue): Promise<void> {
  const { spoken } = dialogue.tracker.state;
  if (spoken.length === 0) return dialogue.respond(HELP, {});
  for (const message of spoken) await dialogue.say(message);
}
