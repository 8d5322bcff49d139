import type { Reader } from './reader.ts';

const standard = /^[A-Za-z0-9+/]*={0,2}$/;
const anyAlphabet = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Base64 of any alphabet, padded or not, in the standard alphabet with padding; else undefined. */
export function normaliseBase64(value: string): string | undefined {
  if (value.length % 4 === 0 && standard.test(value)) return value;
  if (!anyAlphabet.test(value)) return undefined;
  const digits = value.replaceAll('=', '');
  const rest = digits.length % 4;
  const padding = rest === 0 ? '' : '='.repeat(4 - rest);
  if (rest === 1 || value.length - digits.length > padding.length) return undefined;
  return digits.replaceAll('-', '+').replaceAll('_', '/') + padding;
}

export function requiredBase64(reader: Reader, value: unknown, field: string): string {
  const normal = typeof value === 'string' ? normaliseBase64(value) : undefined;
  if (normal === undefined) reader.fail(field, 'must be a base64 string');
  return normal ?? '';
}
