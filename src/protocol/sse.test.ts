import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sseComment, sseFrame } from './sse-frame.ts';
import { type SseEvent, SseParser, type SseParserOptions } from './sse-parser.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
function parse(text: string, options?: SseParserOptions): readonly SseEvent[] {
  return new SseParser(options).push(bytes(text));
}

describe('frames', () => {
  test('are one data line, with an id and a name where given', () => {
    expect(sseFrame({ data: '{"a":1}' })).toBe('data: {"a":1}\n\n');
    expect(sseFrame({ id: 7, event: 'error', data: 'x' })).toBe('event: error\nid: 7\ndata: x\n\n');
    expect(sseComment('keep-alive')).toBe(': keep-alive\n\n');
  });

  test('split data at its line breaks', () => {
    expect(sseFrame({ data: 'a\nb\r\nc\rd' })).toBe('data: a\ndata: b\ndata: c\ndata: d\n\n');
  });

  test('let no field forge another', () => {
    expect(() => sseFrame({ id: '1\ndata: x', data: '' })).toThrow(TypeError);
    expect(() => sseFrame({ event: 'a\rb', data: '' })).toThrow(TypeError);
    expect(() => sseComment('a\n\ndata: x')).toThrow(TypeError);
  });
});

describe('the parser', () => {
  test.each(['\n', '\r\n', '\r'])('takes %j as the end of a line', (end) => {
    const text = ['id: 1', 'event: e', 'data: a', 'data: b', '', 'data:c', '', ''].join(end);
    expect(parse(text)).toEqual([
      { id: '1', event: 'e', data: 'a\nb' },
      { id: '1', event: 'message', data: 'c' },
    ]);
  });

  test.each([
    ['comments', ': hi\n\n: hi\ndata: x\n: hi\n\n', ['x']],
    ['events without data', 'event: e\nid: 1\n\ndata: x\n\n', ['x']],
    ['unknown fields', 'foo: 1\nbar\ndata: x\n\n', ['x']],
    ['an unfinished event', 'data: x\n\ndata: y\n', ['x']],
    ['a byte order mark', '\uFEFFdata: x\n\n', ['x']],
  ])('passes over %s', (_, text, expected) => {
    expect(parse(text).map((event) => event.data)).toEqual(expected);
  });

  test('takes off one space and no more, and knows a field without a colon', () => {
    expect(parse('data:  x \n\ndata\n\ndata\ndata\n\n').map((event) => event.data)).toEqual([
      ' x ',
      '',
      '\n',
    ]);
  });

  test('a later byte order mark is text', () => {
    expect(parse('data: a\n\ndata: \uFEFFx\n\n')[1]?.data).toBe('\uFEFFx');
  });

  test('remembers the last id, and ignores one with a NUL', () => {
    const parser = new SseParser();
    parser.push(bytes('id: 5\ndata: x\n\nid: 6\0\ndata: y\n\n'));
    expect(parser.lastEventId).toBe('5');
    parser.push(bytes('id\ndata: z\n\n'));
    expect(parser.lastEventId).toBe('');
  });

  test('reports retry times that are numbers', () => {
    const times: number[] = [];
    parse('retry: 1500\n\nretry: soon\n\nretry: -1\n\n', { onRetry: (time) => times.push(time) });
    expect(times).toEqual([1500]);
  });

  test('reads the same events however the bytes are cut', () => {
    const events = fc.array(
      fc.record({
        id: fc.stringMatching(/^[a-z0-9é😀]{1,4}$/u),
        event: fc.constantFrom('message', 'error'),
        data: fc.string({ unit: fc.constantFrom('a', ' ', ':', '\n', 'ü', '😀', '{') }),
      }),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(events, fc.array(fc.nat({ max: 7 })), fc.boolean(), (list, cuts, crlf) => {
        const text = list.map((event) => sseFrame(event) + sseComment('k')).join('');
        const wire = bytes(crlf ? text.replaceAll('\n', '\r\n') : text);
        const parser = new SseParser();
        const parsed: SseEvent[] = [];
        let at = 0;
        for (const cut of cuts) {
          parsed.push(...parser.push(wire.subarray(at, at + cut)));
          at += cut;
        }
        parsed.push(...parser.push(wire.subarray(at)));
        expect(parsed).toEqual(list);
      }),
    );
  });

  test('holds an unfinished line in memory of its size, however small the chunks are', () => {
    setFlagsFromString('--expose_gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const size = 256 * 1024;
    const parser = new SseParser();
    const chunk = bytes('x');
    const before = used();
    for (let sent = 0; sent < size; sent += 1) parser.push(chunk);
    expect((used() - before) / size).toBeLessThan(16);
    expect(parser.push(bytes('\ndata: y\n\n'))).toHaveLength(1);
  });

  test('does not hold on to the memory of a chunk', () => {
    const parser = new SseParser();
    const chunk = bytes('data: abc');
    parser.push(chunk);
    chunk.fill(0);
    expect(parser.push(bytes('d\n\n'))[0]?.data).toBe('abcd');
  });
});

describe('an event may have as many bytes as the bound, and not one more', () => {
  // Line ends do not count.
  const event = (size: number) => `data: ${'x'.repeat(size - 6)}\n\n`;

  test('in one piece', () => {
    expect(parse(event(100), { maxEventBytes: 100 })).toHaveLength(1);
    expect(() => parse(event(101), { maxEventBytes: 100 })).toThrow(
      expect.objectContaining({ code: 'PEER_INVALID', message: expect.stringContaining('100') }),
    );
  });

  test('counted in bytes, not in characters', () => {
    expect(parse(`data: ${'ü'.repeat(47)}\n\n`, { maxEventBytes: 100 })).toHaveLength(1);
    expect(() => parse(`data: ${'ü'.repeat(48)}\n\n`, { maxEventBytes: 100 })).toThrow();
  });

  test('over several lines, comments and fields included', () => {
    const lines = (last: string) => `data: ${'x'.repeat(44)}\n:${'c'.repeat(39)}\n${last}\n\n`;
    expect(parse(lines('x'.repeat(10)), { maxEventBytes: 100 })).toHaveLength(1);
    expect(() => parse(lines('x'.repeat(11)), { maxEventBytes: 100 })).toThrow();
  });

  test('without an end of line in sight', () => {
    const parser = new SseParser({ maxEventBytes: 100 });
    for (let sent = 0; sent < 100; sent += 10) parser.push(bytes('x'.repeat(10)));
    expect(() => parser.push(bytes('x'))).toThrow(
      expect.objectContaining({ code: 'PEER_INVALID' }),
    );
  });

  test('and the next event starts to count from nothing', () => {
    expect(parse(event(100).repeat(50), { maxEventBytes: 100 })).toHaveLength(50);
    expect(parse(sseComment('x'.repeat(97)).repeat(50), { maxEventBytes: 100 })).toEqual([]);
  });

  test('the default is 4 MiB', () => {
    const most = 4 * 1024 * 1024;
    expect(parse(event(most))).toHaveLength(1);
    expect(() => parse(event(most + 1))).toThrow();
  });
});
