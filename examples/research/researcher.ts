import { agent, failed, textOf, working } from '../../src/agents/index.ts';
import { artifact, data, text } from '../../src/protocol/index.ts';

/** The available sources. A real agent would search the web. */
const library: Readonly<Record<string, string>> = {
  'bees.txt': 'Honey bees dance to tell each other where flowers are.',
  'ants.txt': 'Ants follow trails of scent to food.',
  'waves.txt': 'Waves at sea are made by the wind.',
};

/** Reads the sources about a subject, and reports with references to them. */
export const researcher = agent(
  {
    name: 'researcher',
    description: 'Reads up on a subject and reports',
    skills: ['research'],
    serialise: 'task',
  },
  async function* (turn) {
    const words =
      textOf(turn.message)
        .toLowerCase()
        .match(/\p{L}{3,}/gu) ?? [];
    const found: { source: string; content: string }[] = [];
    for (const [source, content] of Object.entries(library)) {
      yield working(`Reading ${source}`);
      if (words.some((word) => content.toLowerCase().includes(word)))
        found.push({ source, content });
    }
    if (found.length === 0) {
      yield failed('Nothing was found about that.');
      return;
    }
    yield artifact(
      [
        text(found.map(({ content }) => content).join('\n')),
        data({ sources: found.map(({ source }) => source) }),
      ],
      { name: 'report' },
    );
  },
);
