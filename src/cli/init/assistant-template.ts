import type { Plan } from './questions.ts';
import type { Template } from './templates.ts';

/** An assistant without a model, and an end-to-end test of it. */
export function assistantTemplate({ name, description }: Plan): Template {
  return {
    files: {
      'config.yml': `assistant_id: ${name}
language: en
# Understands messages without a language model.
pipeline:
  - name: MatchingCommandGenerator
`,
      'domain.yml': domain,
      'data/flows.yml': flows,
      'endpoints.yml': `# Serves the assistant as an A2A agent, with this description in its agent card.
a2a_server:
  description: ${JSON.stringify(description)}

# Stores conversations and tasks; the folder is created if missing.
store:
  type: sqlite
  path: .legate/${name}.db
`,
      'credentials.yml': '# The REST channel: POST /webhooks/rest/webhook\nrest:\n',
      'tests/booking.yml': tests,
      'README.md': `# ${name}

${description}

\`\`\`sh
npx legate validate          # reports errors with file, line and fix
npx legate test e2e          # runs the conversation tests in tests/
npx legate shell             # starts a chat in the terminal
npx legate run --inspect     # serves it and prints the link to the inspector
\`\`\`
`,
      '.gitignore': '.legate/\nmodels/\n',
    },
    commands: ['npx legate test e2e', 'npx legate shell', 'npx legate run --inspect'],
  };
}

const domain = `version: "3.1"
session_config:
  start_session_after_expiry: false # conversations continue after a pause
slots:
  guests:
    type: float
  outside:
    type: bool
responses:
  utter_ask_guests:
    - text: For how many?
  utter_too_many:
    - text: We have tables for up to 12.
  utter_ask_outside:
    - text: Would you like to sit outside?
      buttons:
        - title: "Yes"
          payload: /SetSlots(outside=true)
        - title: "No"
          payload: /SetSlots(outside=false)
  utter_booked:
    - text: A table for {guests} is booked.
  utter_hours:
    - text: We are open from noon to midnight.
`;

const flows = `flows:
  book_table:
    name: table booking
    description: Book a table.
    examples:
      - I want to book a table
      - can I reserve a table
    steps:
      - collect: guests
        description: how many people come, as a number
        rejections:
          - if: slots.guests > 12
            utter: utter_too_many
      - collect: outside
        description: whether they want to sit outside
      - action: utter_booked

  opening_hours:
    name: opening hours
    description: Tell when the restaurant is open.
    examples:
      - when are you open
      - what time do you close
    steps:
      - action: utter_hours
`;

const tests = `test_cases:
  - test_case: a table is booked, and not for too many
    steps:
      - user: book a table
      - utter: utter_ask_guests
      - user: "20"
      - utter: utter_too_many
      - utter: utter_ask_guests
      - user: "4"
      - utter: utter_ask_outside
      - user: "yes"
      - utter: utter_booked
  - test_case: the opening hours are told
    steps:
      - user: when are you open
      - utter: utter_hours
`;
