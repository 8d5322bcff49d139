import type { Field } from '../../config/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import { botLine, text, utterOf } from './events.ts';
import type { Judgement, Question } from './judge.ts';
import type { Check, TestTurn, Verdict } from './model.ts';

/** Messages of one turn that are judged for one assertion. */
const mostAnswers = 20;

interface Wanted {
  readonly kind: Question['kind'];
  readonly title: string;
  readonly threshold: number;
  readonly utter: string | undefined;
  readonly source: string | undefined;
  readonly truth: string | undefined;
}

/** `generative_response_is_relevant`, `generative_response_is_grounded`. */
export function readGenerative(field: Field, name: string): readonly Check[] {
  const kind = name === 'generative_response_is_grounded' ? 'grounded' : 'relevant';
  const section = field.value === null ? undefined : field.section();
  const threshold = section?.number('threshold', { minimum: 0, maximum: 1 }) ?? 0.5;
  const utter = section?.name('utter_name');
  const source = section?.name('utter_source');
  const truth = kind === 'grounded' ? section?.get('ground_truth')?.text() : undefined;
  section?.finish();
  const about = utter ?? source;
  const title = `${name}${about === undefined ? '' : ` of ${about}`}, at least ${threshold}`;
  const wanted = { kind, title, threshold, utter, source, truth } as const;
  return [
    {
      title,
      position: field.keyPlace.position,
      uses: utter === undefined ? [] : [{ kind: 'response', name: utter }],
      judge: (turn, from) => judge(wanted, turn, from),
    },
  ];
}

/** True when one message is good enough; all of them are told of when none is. */
async function judge(wanted: Wanted, turn: TestTurn, from: number): Promise<Verdict> {
  const { title, kind } = wanted;
  if (turn.judge === undefined) {
    const how = `this needs a model as a judge: write llm_judge: {llm: {model_group: ...}} into conftest.yml, with one of the model_groups of endpoints.yml`;
    return { isTrue: false, expected: `${title}; ${how}`, found: [] };
  }
  const answers = answersIn(wanted, turn, from).slice(0, mostAnswers);
  const user = turn.events.find(({ event }) => event === 'user');
  const found: string[] = [];
  for (const { event, at } of answers) {
    const truth = kind === 'grounded' ? (wanted.truth ?? foundTruth(event)) : undefined;
    if (kind === 'grounded' && truth === undefined) {
      const expected = `${title}; nothing says what is true: write ground_truth`;
      return { isTrue: false, expected, found: [botLine(event)] };
    }
    const question = { kind, user: text(user?.['text']), answer: text(event['text']) };
    let judgement: Judgement;
    try {
      judgement = await turn.judge.judge({ ...question, ...(truth !== undefined && { truth }) });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { isTrue: false, expected: title, found: [`the judge failed: ${why}`] };
    }
    if (judgement.score >= wanted.threshold) return { isTrue: true, at };
    const faults = judgement.faults.map((fault) => `  not so: ${fault}`);
    found.push(`${judgement.score.toFixed(2)} for ${botLine(event)}`, ...faults);
  }
  return { isTrue: false, expected: title, found };
}

interface Answer {
  readonly event: TrackerEvent;
  readonly at: number;
}

/**
 * The messages that are meant: those of the name and source, where a test says so. Else those that
 * are more than a response of the domain as it is written; when there is none of them, all.
 */
function answersIn(
  { utter, source }: Wanted,
  { events }: TestTurn,
  from: number,
): readonly Answer[] {
  const answers = events
    .map((event, at) => ({ event, at }))
    .filter(({ event, at }) => at >= from && event.event === 'bot')
    .filter(({ event }) => typeof event['text'] === 'string' && event['text'] !== '');
  const named = answers
    .filter(({ event }) => utter === undefined || utterOf(event) === utter)
    .filter(({ event }) => source === undefined || sourcesOf(event).includes(source));
  if (utter !== undefined || source !== undefined) return named;
  const made = answers.filter(
    ({ event }) => utterOf(event) === undefined || sourcesOf(event).length > 0,
  );
  return made.length > 0 ? made : answers;
}

/** Where the words come from: a rephraser, a sub agent, whatever an action says of them. */
function sourcesOf(event: TrackerEvent): readonly JsonValue[] {
  const { utter_source: source, agent_id: agent } = (event['metadata'] ?? {}) as JsonObject;
  return [source, agent].filter((one) => one !== undefined);
}

/** What the message was made from, where it says so. */
function foundTruth(event: TrackerEvent): string | undefined {
  const results = ((event['metadata'] ?? {}) as JsonObject)['search_results'];
  if (!Array.isArray(results) || results.length === 0) return undefined;
  return (results as readonly JsonValue[]).map(text).join('\n\n');
}
