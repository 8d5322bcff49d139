import {
  type ScriptedModelServer,
  type ScriptedRequest,
  startScriptedModelServer,
} from 'legate/models';
import { agentFor } from './agents.ts';

/** The commands that a model derives from the messages of the tests. */
const meanings: Readonly<Record<string, readonly string[]>> = {
  'I want to send money': ['start flow transfer_money'],
  'send money to Ann': ['start flow transfer_money', 'set slot recipient Ann'],
  'send 50 to Ann': ['start flow transfer_money', 'set slot recipient Ann', 'set slot amount 50'],
  'send 5000 to Ann': [
    'start flow transfer_money',
    'set slot recipient Ann',
    'set slot amount 5000',
  ],
  'send money and then show my balance': ['start flow transfer_money', 'start flow check_balance'],
  'make it 60': ['set slot amount 60'],
  'no, to Bob': ['set slot recipient Bob'],
  'I want to change the recipient': ['set slot recipient null'],
  cancel: ['cancel flow'],
  'never mind': ['cancel flow'],
  'stop that, show my balance': ['cancel flow', 'start flow check_balance'],
  'what is my balance?': ['start flow check_balance'],
  'can you repeat that?': ['repeat message'],
  'what are your opening hours?': ['provide info'],
  'one moment please': ['offtopic reply'],
  'one moment': ['offtopic reply'],
  hi: ['offtopic reply'],
  'what can you do?': ['offtopic reply'],
  'send 20 to Ann': ['start flow transfer_money', 'set slot recipient Ann', 'set slot amount 20'],
  'order me a pizza': ['cannot handle'],
  'book an appointment tomorrow at 3pm': [
    'start flow book_appointment',
    'set slot appointment_date 2026-11-16',
    'set slot appointment_time 15:00',
  ],
  'book an appointment on saturday': [
    'start flow book_appointment',
    'set slot appointment_date 2026-11-21',
  ],
  'next tuesday': ['set slot appointment_date 2026-11-17'],
  '3 pm': ['set slot appointment_time 15:00'],
  'at a branch': ['set slot meeting branch'],
  'actually, by phone': ['set slot meeting phone'],
  card: ['disambiguate flows freeze_card replace_card'],
  'freeze it': ['start flow freeze_card'],
  contact: ['disambiguate flows add_contact remove_contact list_contacts'],
  'show me a statement': ['start flow order_statement'],
  // The model also starts a flow whose guard fails: it doesn't evaluate guards.
  'raise my limit to 800': ['start flow change_limit', 'set slot new_limit 800'],
  'raise my limit': ['start flow change_limit'],
  'log in': ['start flow log_in'],
  'freeze my card': ['start flow freeze_card'],
  'freeze my credit card': ['start flow freeze_card', 'set slot card credit'],
  'replace my card': ['start flow replace_card'],
  'I need a new debit card': ['start flow replace_card', 'set slot card debit'],
  'the credit card': ['set slot card credit'],
  'add a contact': ['start flow add_contact'],
  'show my contacts': ['start flow list_contacts'],
  'remove Ann from my contacts': ['start flow remove_contact', 'set slot contact_name Ann'],
  'remove Bob from my contacts': ['start flow remove_contact', 'set slot contact_name Bob'],
  'I want to leave feedback': ['start flow give_feedback'],
  'I want a loan': ['start flow plan_loan'],
  'run the loan calculator again': ['restart agent loan_calculator'],
  'open a savings account': ['start flow open_savings'],
  'paint my house': ['cannot handle'],
};

/** Answers whose meaning depends on the question. */
const answers: Readonly<Record<string, string>> = {
  'continue_interrupted_flow_confirmation Ann': 'set slot recipient Ann',
};

/** A model for the tests of this bank: a message always has the same meaning. */
export function startBankModel(): Promise<ScriptedModelServer> {
  return startScriptedModelServer(
    (request) => agentFor(request) ?? commandsFor(request).join('\n'),
  );
}

function commandsFor(request: ScriptedRequest): readonly string[] {
  const text = latestMessage(request);
  const known = meanings[text];
  if (known !== undefined) return known;
  if (isAgentActive(request)) return ['continue agent'];
  const question = openQuestion(request);
  if (question === undefined) return ['offtopic reply'];
  const value = text === 'yes' ? 'True' : text === 'no' ? 'False' : text;
  return [answers[`${question} ${text}`] ?? `set slot ${question} ${value}`];
}

function latestMessage({ lastUserText }: ScriptedRequest): string {
  const quoted = /^The latest message: (".*")$/m.exec(lastUserText)?.[1] ?? '""';
  return JSON.parse(quoted) as string;
}

function openQuestion({ lastUserText }: ScriptedRequest): string | undefined {
  return /"question_to_the_user": \{\s*"slot": "(\w+)"/.exec(lastUserText)?.[1];
}

function isAgentActive({ lastUserText }: ScriptedRequest): boolean {
  return /"agent_that_waits": "\w+"/.test(lastUserText);
}
