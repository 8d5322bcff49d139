import { type ActionContext, defineAction } from 'legate/assistant';
import { textOf } from './text.ts';

/** A type, not an interface, so that it is assignable to JSON. */
type Contact = { readonly name: string; readonly iban: string };

export const addContact = defineAction({
  name: 'action_add_contact',
  async run({ slots, setSlot, utterResponse }) {
    const contact = { name: textOf(slots, 'contact_name'), iban: textOf(slots, 'contact_iban') };
    const others = contactsOf(slots).filter((one) => !isNamed(one, contact.name));
    const wasKnown = others.length < contactsOf(slots).length;
    setSlot('contacts', [...others, contact]);
    utterResponse(wasKnown ? 'utter_contact_known' : 'utter_contact_added');
  },
});

export const removeContact = defineAction({
  name: 'action_remove_contact',
  async run({ slots, setSlot, utterResponse }) {
    const name = textOf(slots, 'contact_name');
    const left = contactsOf(slots).filter((one) => !isNamed(one, name));
    const wasKnown = left.length < contactsOf(slots).length;
    if (wasKnown) setSlot('contacts', left);
    utterResponse(wasKnown ? 'utter_contact_removed' : 'utter_contact_unknown');
  },
});

export const listContacts = defineAction({
  name: 'action_list_contacts',
  async run({ slots, utter }) {
    const contacts = contactsOf(slots);
    if (contacts.length === 0) return utter('Your list of contacts is empty.');
    utter(`Your contacts: ${contacts.map(({ name, iban }) => `${name} (${iban})`).join(', ')}.`);
  },
});

function contactsOf(slots: ActionContext['slots']): readonly Contact[] {
  return Array.isArray(slots['contacts']) ? (slots['contacts'] as readonly Contact[]) : [];
}

function isNamed(contact: Contact, name: string): boolean {
  return contact.name.toLowerCase() === name.toLowerCase();
}
