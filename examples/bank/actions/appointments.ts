import { defineAction } from 'legate/assistant';
import { textOf } from './text.ts';

/** Advisors are not available at weekends or in the past. */
export const validateAppointmentDate = defineAction({
  name: 'validate_appointment_date',
  async run({ slots, setSlot, utterResponse, clock }) {
    const date = textOf(slots, 'appointment_date').slice(0, 10);
    const mocked = slots['mocked_datetime'];
    const now = typeof mocked === 'string' ? new Date(mocked) : new Date(clock.now());
    if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) {
      utterResponse('utter_date_form');
      return setSlot('appointment_date', null);
    }
    const isPast = date < now.toISOString().slice(0, 10);
    const isWeekend = [0, 6].includes(new Date(`${date}T00:00:00Z`).getUTCDay());
    if (!isPast && !isWeekend) return setSlot('appointment_date', date);
    utterResponse(isPast ? 'utter_date_past' : 'utter_date_weekend');
    setSlot('appointment_date', null);
  },
});
