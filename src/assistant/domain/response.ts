import { type Field, present, type Section, TextError } from '../../config/index.ts';
import type { JsonValue } from '../../protocol/index.ts';
import type { Button } from '../conversation.ts';
import type { ResponseVariation } from '../model.ts';
import { sampleScope } from '../templates/sample-scope.ts';
import { compileTemplate } from '../templates/template.ts';
import { readCondition, type Use } from './uses.ts';

/** Reads an entry of `responses:` with all its variations. */
export function readResponse(field: Field, uses: Use[]): readonly ResponseVariation[] {
  const variations = (field.list() ?? []).flatMap((item) => readVariation(item, uses));
  if (variations.length === 0) field.keyError('has no variation', { hint: 'write - text: ...' });
  return variations;
}

function readVariation(field: Field, uses: Use[]): readonly ResponseVariation[] {
  const section = field.section();
  if (section === undefined) return [];
  const metadata = section.object('metadata');
  const isJinja = metadata?.['template'] === 'jinja';
  checkPrompt(section.section('metadata')?.get('rephrase_prompt'));
  const text = section.get('text');
  const variation = present({
    id: section.text('id'),
    text: text?.text(),
    condition: readVariationCondition(section, uses),
    channel: section.name('channel'),
    buttons: section.get('buttons') && section.list('buttons').flatMap(readButton),
    quickReplies: readValues(section.get('quick_replies')),
    image: section.text('image'),
    attachment: section.json('attachment'),
    custom: section.json('custom'),
    elements: readValues(section.get('elements')),
    metadata,
    translation: section.record('translation', (field) => {
      const translated = field.text();
      if (isJinja) field.attempt(() => compileTemplate(translated ?? ''));
      return translated;
    }),
  });
  if (isJinja) text?.attempt(() => compileTemplate(variation.text ?? ''));
  section.get('allow_interruptions');
  section.finish();
  const { text: said, custom, image, attachment, buttons, elements, quickReplies } = variation;
  const content = [said, custom, image, attachment, buttons, elements, quickReplies];
  if (content.every((part) => part === undefined)) {
    field.error('is empty', 'give it a text or custom');
  }
  return [variation];
}

/** Checks a prompt. Prompts have many lines, so the problem names the line. */
function checkPrompt(field: Field | undefined): void {
  try {
    compileTemplate(field?.text() ?? '').render(sampleScope);
  } catch (error) {
    if (!(error instanceof TextError)) throw error;
    field?.error(error.message);
  }
}

function readValues(field: Field | undefined): readonly JsonValue[] | undefined {
  return field?.list()?.map(({ value }) => value);
}

function readButton(field: Field): readonly Button[] {
  const section = field.section();
  if (section === undefined) return [];
  const title = section.require('title')?.text();
  // A button without a payload sends its title.
  const payload = section.text('payload') ?? title;
  const translation = section.record('translation', (inner) => {
    const translated = inner.section();
    const entry =
      translated &&
      present({ title: translated.text('title'), payload: translated.text('payload') });
    translated?.finish();
    return entry;
  });
  section.finish();
  if (title === undefined || payload === undefined) return [];
  return [{ title, payload, ...present({ translation }) }];
}

/** Reads a condition as text, or as the older list of `{type: slot, name, value}`. */
function readVariationCondition(section: Section, uses: Use[]): string | undefined {
  const field = section.get('condition');
  if (field === undefined || !Array.isArray(field.value)) return readCondition(field, uses);
  const conditions = (field.list() ?? []).map((item): string | undefined => {
    const entry = item.section();
    if (entry === undefined) return undefined;
    entry.require('type')?.oneOf(['slot']);
    const name = entry.require('name')?.name();
    const value = entry.getEvenEmpty('value');
    entry.finish();
    if (value === undefined) item.keyError('"value" is missing');
    if (name === undefined || value === undefined) return undefined;
    const literal = toLiteral(value.value);
    if (literal === undefined) value.error('must be a text, a number, true, false or null');
    return literal && `slots.${name} = ${literal}`;
  });
  const text = conditions.filter((one) => one !== undefined).join(' and ');
  if (text === '') return undefined;
  uses.push({ kind: 'condition', text, field });
  return text;
}

function toLiteral(value: JsonValue): string | undefined {
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`;
  if (typeof value === 'object' && value !== null) return undefined;
  return String(value);
}
