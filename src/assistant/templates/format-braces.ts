import { attributeOf, type Call } from './operation.ts';
import { toText } from './value.ts';

/** `'Hi {}, {0} and {name.first}'.format(...)`, without format specifications. */
export function formatBraces(text: string, call: Call): string {
  let next = 0;
  return text.replace(/\{\{|\}\}|\{([^{}]*)\}/g, (written, field?: string) => {
    if (field === undefined) return written.charAt(0);
    const match = /^(\d*|[A-Za-z_]\w*)((?:\.\w+)*)$/.exec(field);
    if (match === null) throw new RangeError(`format does not know {${field.slice(0, 40)}}`);
    const [, name = '', path = ''] = match;
    const at = name === '' ? next++ : Number(name);
    const value = Number.isNaN(at) ? call.named.get(name) : call.positional[at];
    if (value === undefined) throw new RangeError(`format has no value for {${field}}`);
    const result = toText(path === '' ? value : attributeOf(value, path.slice(1)));
    call.spend(result.length);
    return result;
  });
}
