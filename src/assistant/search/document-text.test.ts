import { expect, test, vi } from 'vitest';
import { documentText } from './document-text.ts';

const read = (name: string, text: string) => documentText(name, Buffer.from(text));

test('Markdown loses front matter, comments and addresses', async () => {
  const text =
    '---\ntitle: x\n---\n# Fees\n<!-- no -->\nSee [the list](https://a.example/x) **now**.';
  expect(await read('a.md', text)).toBe('# Fees\n\nSee the list now.');
});

test('HTML is read without tags, scripts and navigation, with its headings', async () => {
  const html = `<html><head><title>x</title></head><body><nav>Home</nav><h2>Fees &amp; <em>costs</em></h2>
<p>Transfers&nbsp;are <b>free</b>.<br>Cards: 5&#8239;&euro; &#x3c;a&unknown;</p><script>if (a < b) alert("<p>")</script>
<ul><li>one</li><li>two</li></ul><!-- <p>gone</p> --></body></html>`;
  expect(await read('a.html', html)).toBe(
    '## Fees & costs\n\nTransfers are free.\nCards: 5\u202f€ <a&unknown;\n\n- one\n\n- two',
  );
});

test('HTML that is cut or hostile is read in one pass', async () => {
  expect(await read('a.htm', '<p>text <b')).toBe('text');
  const hostile = `<p>x</p>${'<!--'.repeat(20_000)}${'<'.repeat(20_000)}`;
  expect(await read('a.htm', hostile)).toBe('x');
});

test('the text of a PDF is read', async () => {
  expect(await documentText('a.pdf', pdf('Cards are blocked at once.'))).toBe(
    'Cards are blocked at once.',
  );
});

test.each([
  ['a.docx', Buffer.from('PK'), 'only .md, .markdown, .txt, .text, .html, .htm, .pdf are read'],
  ['a.txt', Buffer.from([0xff, 0xfe, 0x41]), 'it is not UTF-8'],
  ['a.txt', Buffer.from('a\0b'), 'it is not text'],
  ['a.md', Buffer.from('  \n'), 'it has no text'],
])('%s that cannot be read says why', async (name, content, reason) => {
  await expect(documentText(name, content)).rejects.toThrow(reason);
});

test('a broken PDF says why, and nothing is printed', async () => {
  const print = vi.spyOn(console, 'log');
  const warn = vi.spyOn(console, 'warn');
  await expect(
    documentText('a.pdf', Buffer.from('%PDF-1.4\n1 0 obj (unterminated')),
  ).rejects.toThrow(/PDF/);
  expect([...print.mock.calls, ...warn.mock.calls]).toEqual([]);
});

/** A PDF with one line of text. */
export function pdf(line: string): Uint8Array {
  const stream = `BT /F1 12 Tf 72 720 Td (${line}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((body, at) => {
    const offset = file.length;
    file += `${at + 1} 0 obj\n${body}\nendobj\n`;
    return offset;
  });
  const start = file.length;
  const entries = offsets
    .map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`)
    .join('');
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}trailer\n`;
  file += `<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF`;
  return Buffer.from(file, 'latin1');
}
