export { checkPin } from './identity.ts';
export { addContact, listContacts, removeContact } from './contacts.ts';
export { changeLimit, makeTransfer, showBalance, showStatement, validateAmount } from './money.ts';
export { freezeCard } from './cards.ts';
export { validateAppointmentDate } from './appointments.ts';
export { countClarification } from './clarification.ts';
