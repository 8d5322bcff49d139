import { matchingGenerator } from '../../src/assistant/index.ts';
import { flow, situation } from '../../src/assistant/generators/testing/bank.ts';
import { atMost, type Row } from '../row.ts';

const verbs = 'book order cancel track return report renew extend find compare'.split(' ');
const things =
  'parcel table flight invoice contract ticket room meter key lesson permit device router membership order'.split(
    ' ',
  );
const kinds = 'red old blue urgent private shared foreign'.split(' ');
const messages = [
  'hi there',
  'I want to order a red ticket please',
  'could you maybe track my old parcel, I sent it last week',
  'what happens if I cancel my blue lesson?',
  'how do I renew a shared permit',
  'somthing is wrong with my privat contrct',
  'order a pizza',
  'book a foreign flight for 2 on friday and find my urgent invoice',
];

/** CPU of reading a message without a model, in milliseconds, with this many flows. */
async function cpuPerMessage(count: number): Promise<number> {
  const made = Array.from({ length: count }, (_, at) => {
    const [verb, thing, kind] = [
      verbs[at % verbs.length] ?? '',
      things[Math.floor(at / verbs.length) % things.length] ?? '',
      kinds[Math.floor(at / (verbs.length * things.length)) % kinds.length] ?? '',
    ];
    const examples = [`I want to ${verb} a ${kind} ${thing}`, `please ${verb} my ${thing} ${kind}`];
    return flow(`${verb}_${kind}_${thing}`, `Lets people ${verb} a ${kind} ${thing}.`, [], {
      examples,
    });
  });
  const flows = new Map(made.map((one) => [one.id, one]));
  const generator = matchingGenerator();
  const domain = situation({ text: '' }).domain;
  const round = async (rounds: number): Promise<void> => {
    for (let at = 0; at < rounds; at += 1) {
      for (const text of messages) await generator.generate(situation({ text, flows, domain }));
    }
  };
  await round(60);
  const rounds = 150;
  const before = process.cpuUsage();
  await round(rounds);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / (rounds * messages.length);
}

/** Measures the CPU of understanding a message without a model. */
export const understanding: Row = {
  name: 'understanding',
  title: 'a message read without a model, 30 and 500 flows',
  async run() {
    return {
      verdicts: [
        atMost('CPU of a message, 30 flows', await cpuPerMessage(30), 0.3, 'ms'),
        atMost('CPU of a message, 500 flows', await cpuPerMessage(500), 1, 'ms'),
      ],
    };
  },
};
