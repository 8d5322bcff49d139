import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Task } from '../../protocol/index.ts';
import { task as anyTask } from '../../protocol/testing/arbitraries.ts';
import { Redactor } from './redactor.ts';
import { TextWriter } from './text.ts';

function linesOf(task: Task, isVerbose: boolean): readonly string[] {
  let text = '';
  new TextWriter({ write: (piece) => (text += piece), isVerbose }).task(task);
  return text.split('\n');
}

test('A2A CLI 11.2: whatever an agent sends, a line is a field, a label, a block or blank', () => {
  fc.assert(
    fc.property(anyTask, fc.boolean(), (task, isVerbose) => {
      for (const line of linesOf(task, isVerbose)) {
        expect(line).toMatch(/^(?:[A-Z][a-z]+(?: [a-z]+)*: .*|[A-Z][a-z]+:|  .*|)$/su);
        expect(line).not.toMatch(/[^\P{Cc}\t]/u);
      }
    }),
  );
});

test('A2A CLI 12.1: a credential is redacted in every encoding', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 8, maxLength: 40 }), fc.string(), (secret, around) => {
      const redactor = new Redactor();
      redactor.add(secret);
      for (const spelled of [
        secret,
        encodeURIComponent(secret.toWellFormed()),
        JSON.stringify(secret),
        Buffer.from(secret).toString('base64'),
      ]) {
        const shown = redactor.clean(`<${spelled}>`);
        expect(shown).toContain('[redacted]');
      }
      fc.pre(!around.includes(secret));
      expect(redactor.clean(around + secret)).not.toContain(secret);
    }),
  );
});
