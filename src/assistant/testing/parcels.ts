import type { ActionRunner } from '../actions/runner.ts';
import { slotSet } from '../tracker/events.ts';
import { project } from './project.ts';

/** A test project: a parcel office with many kinds of steps. */

const domain = `
version: "3.1"
slots:
  recipient: {type: text}
  weight: {type: float}
  service: {type: categorical, values: [standard, express]}
  phone: {type: text}
  confirm: {type: bool}
  code: {type: text}
  from_day: {type: float}
  to_day: {type: float}
  hold_confirm: {type: bool}
  pin: {type: text}
  new_address: {type: text}
  feedback: {type: text}
  postcode:
    type: text
    validation:
      rejections:
        - if: not slots.postcode matches "^[0-9]{5}$"
          utter: utter_postcode_invalid
  receipt: {type: text, mappings: [{type: controlled}]}
  known: {type: bool, mappings: [{type: controlled}]}
  tries: {type: float, mappings: [{type: controlled}]}
  clarified: {type: float, mappings: [{type: controlled}]}
actions:
  - action_book
  - action_check_pin
  - action_break
  - validate_code
responses:
  utter_ask_recipient: [{text: "Who is it for?"}]
  utter_ask_weight: [{text: "How heavy is it?"}]
  utter_ask_service: [{text: "Standard or express?"}]
  utter_ask_phone: [{text: "Which phone number may we call?"}]
  utter_ask_confirm: [{text: "{weight} kg to {recipient}, {service}. Shall I send it?"}]
  utter_ask_code: [{text: "What is the code?"}]
  utter_ask_from_day: [{text: "From which day?"}]
  utter_ask_to_day: [{text: "Until which day?"}]
  utter_ask_hold_confirm: [{text: "Hold it from {from_day} to {to_day}?"}]
  utter_ask_pin: [{text: "Your PIN, please."}]
  utter_ask_new_address: [{text: "Where should it go?"}]
  utter_ask_feedback: [{text: "What should we know?"}]
  utter_ask_postcode: [{text: "Your postcode?"}]
  utter_postcode_invalid: [{text: "A postcode has five digits."}]
  utter_weight_wrong: [{text: "{value} kg is no weight for a parcel."}]
  utter_days_wrong: [{text: "That would end before it begins."}]
  utter_sent: [{text: "Sent, receipt {receipt}."}]
  utter_not_sent: [{text: "Not sent."}]
  utter_status: [{text: "Parcel {code} is on its way."}]
  utter_hours: [{text: "Open from 9 to 5."}]
  utter_held: [{text: "We hold your mail."}]
  utter_redirected: [{text: "It goes to {new_address}."}]
  utter_thanks: [{text: "Thanks for '{feedback}'."}]
  utter_history: [{text: "Three parcels this year."}]
  utter_office: [{text: "The office in {postcode} is open."}]
session_config: {session_expiration_time: 60, start_session_after_expiry: false}
`;

const flows = `
flows:
  send_parcel:
    name: sending a parcel
    description: Send a parcel to someone.
    steps:
      - collect: recipient
      - collect: weight
        rejections:
          - if: slots.weight <= 0 or slots.weight > 30
            utter: utter_weight_wrong
      - collect: service
        next:
          - if: slots.service = "express"
            then:
              - collect: phone
                next: confirm
          - else: confirm
      - id: confirm
        collect: confirm
        ask_before_filling: true
        next:
          - if: slots.confirm
            then: book
          - else:
              - action: utter_not_sent
                next: END
      - id: book
        action: action_book
      - action: utter_sent
  track_parcel:
    name: tracking a parcel
    description: Find out where a parcel is.
    steps:
      - collect: code
      - action: utter_status
  opening_hours:
    name: opening hours
    description: When the office is open.
    nlu_trigger:
      - intent: ask_hours
    steps:
      - action: utter_hours
  hold_mail:
    name: holding mail
    description: Hold the mail while away.
    persisted_slots: [to_day]
    steps:
      - collect: from_day
      - collect: to_day
        rejections:
          - if: slots.to_day < slots.from_day
            utter: utter_days_wrong
      - collect: hold_confirm
        ask_before_filling: true
        next:
          - if: slots.hold_confirm
            then:
              - action: utter_held
                next: END
          - else: END
  redirect_parcel:
    name: redirecting a parcel
    description: Send a parcel to another address.
    steps:
      - call: authenticate
        next:
          - if: slots.known
            then: address
          - else:
              - link: pattern_human_handoff
      - id: address
        collect: new_address
      - action: utter_redirected
  authenticate:
    description: Make sure who the user is.
    if: False
    steps:
      - id: ask
        collect: pin
        ask_before_filling: true
      - action: action_check_pin
        next:
          - if: slots.known
            then: END
          - if: slots.tries > 2
            then: END
          - else: ask
  history:
    description: The parcels of the last year.
    if: slots.known
    steps:
      - action: utter_history
  give_feedback:
    description: Tell the office something.
    run_pattern_completed: false
    steps:
      - collect: feedback
        force_slot_filling: true
      - action: utter_thanks
  find_office:
    description: Find an office nearby.
    steps:
      - collect: postcode
      - action: utter_office
  broken:
    description: Something that always fails.
    steps:
      - collect: recipient
      - action: action_break
`;

/** The actions of the parcel office. */
export const parcelActions: ActionRunner = {
  has: () => true,
  run: ({ name, slots }) => {
    switch (name) {
      case 'action_book':
        return Promise.resolve({
          messages: [],
          events: [slotSet('receipt', `R-${JSON.stringify(slots['weight'])}`)],
        });
      case 'action_check_pin': {
        const tries = typeof slots['tries'] === 'number' ? slots['tries'] + 1 : 1;
        const known = slots['pin'] === '1234';
        return Promise.resolve({
          messages: known ? [] : [{ text: 'That is not your PIN.' }],
          events: [slotSet('tries', tries), slotSet('known', known)],
        });
      }
      case 'validate_code': {
        const code = (slots['code'] as string).toUpperCase();
        const isGood = code.startsWith('P');
        return Promise.resolve({
          messages: isGood ? [] : [{ text: 'Codes begin with P.' }],
          events: [slotSet('code', isGood ? code : null)],
        });
      }
      default:
        return Promise.reject(new Error('the machine is broken'));
    }
  },
};

export function parcels(overrides: { readonly flows?: string } = {}) {
  return project({
    domain,
    flows: overrides.flows === undefined ? flows : flows + overrides.flows,
  });
}
