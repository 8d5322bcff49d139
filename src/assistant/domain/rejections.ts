import type { Field } from '../../config/index.ts';
import type { Rejection } from '../model.ts';
import type { Use } from './uses.ts';

/** A condition: a text, or one of the words true and false. */
export function readCondition(
  field: Field | undefined,
  uses: Use[],
  flow?: string,
): string | undefined {
  if (field === undefined) return undefined;
  const text = typeof field.value === 'boolean' ? String(field.value) : field.name();
  if (text === undefined) return undefined;
  uses.push({ kind: 'condition', text, field, ...(flow !== undefined && { flow }) });
  return text;
}

/** The name of a response, noted as used. */
export function readResponseName(
  field: Field | undefined,
  uses: Use[],
  flow?: string,
): string | undefined {
  const name = field?.name();
  if (field === undefined || name === undefined) return undefined;
  uses.push({ kind: 'response', name, field, ...(flow !== undefined && { flow }) });
  return name;
}

/** `rejections: [{if, utter}]`, of a slot or of a collect step. */
export function readRejections(
  fields: readonly Field[],
  uses: Use[],
  flow?: string,
): readonly Rejection[] {
  return fields.flatMap((field): Rejection[] => {
    const section = field.section();
    if (section === undefined) return [];
    const condition = readCondition(section.require('if'), uses, flow);
    const utter = readResponseName(section.require('utter'), uses, flow);
    section.finish();
    if (condition === undefined || utter === undefined) return [];
    return [{ if: condition, utter }];
  });
}
