import type { ScriptedReply, ScriptedRequest } from 'legate/models';

/** The response of a model in the role of a sub agent; undefined for other requests. */
export function agentFor(request: ScriptedRequest): ScriptedReply | undefined {
  if (request.tools.includes('set_slot_savings_product')) return advisor(request);
  return request.tools.includes('task_completed') ? calculator(request) : undefined;
}

function advisor({ lastUserText, messages }: ScriptedRequest): ScriptedReply {
  if (/^(?:yes|no)$/.test(lastUserText)) {
    const slot_value = lastUserText === 'yes' ? 'instant' : 'fixed';
    return { toolCalls: [{ name: 'set_slot_savings_product', input: { slot_value } }] };
  }
  if (messages.at(-1)?.role === 'tool') return 'Might you need the money within two years?';
  return { toolCalls: [{ name: 'list_savings_products', input: {} }] };
}

function calculator({ lastUserText, messages }: ScriptedRequest): ScriptedReply {
  const last = messages.at(-1);
  if (last?.role === 'tool') {
    const { rate } = JSON.parse(last.text) as { readonly rate: number };
    const text = `That would cost ${rate} euros a month.`;
    return { text, toolCalls: [{ name: 'task_completed', input: {} }] };
  }
  if (Number(lastUserText) > 1_000_000_000) return { error: { status: 400, message: 'no' } };
  if (Number(lastUserText) > 0) return 'Over how many months?';
  const months = Number(/^(\d+) months$/.exec(lastUserText)?.[1]);
  if (Number.isNaN(months)) return 'How much do you want to borrow, in euros?';
  const amounts = messages.map(({ role, text }) => (role === 'user' ? Number(text) : Number.NaN));
  const amount = amounts.findLast((number) => number > 0) ?? 0;
  const input = { amount, months };
  return { text: 'Let me calculate that.', toolCalls: [{ name: 'monthly_rate', input }] };
}
