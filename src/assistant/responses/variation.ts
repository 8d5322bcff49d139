import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { BotMessage, Button } from '../conversation.ts';
import type { ResponseVariation } from '../model.ts';
import { compileTemplate, renderEach, renderFormat } from '../templates/template.ts';

export interface Selection {
  readonly channel: string;
  /** Whether a condition of a variation holds. */
  holds(condition: string): boolean;
  /** At least 0 and less than 1. */
  random(): number;
}

/**
 * Chooses a variation: variations for the channel take precedence over general ones, and among them
 * variations whose condition holds over unconditional ones. Chooses randomly among equals.
 */
export function selectVariation(
  variations: readonly ResponseVariation[],
  selection: Selection,
): ResponseVariation | undefined {
  const onChannel = variations.filter((one) => one.channel === selection.channel);
  const anywhere = variations.filter((one) => one.channel === undefined);
  for (const group of [onChannel, anywhere]) {
    const conditional = group.filter(
      (one) => one.condition !== undefined && selection.holds(one.condition),
    );
    const equals = conditional.length > 0 ? conditional : group.filter(isUnconditional);
    const chosen = equals[Math.floor(selection.random() * equals.length)];
    if (chosen !== undefined) return chosen;
  }
  return undefined;
}

function isUnconditional(variation: ResponseVariation): boolean {
  return variation.condition === undefined;
}

/** The values that the texts of a response can refer to. */
export interface ResponseScope {
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The context of the pattern that sends the response. */
  readonly context: JsonObject;
  /** Values from the action that sends the response. They take precedence over slots of the same name. */
  readonly values: JsonObject;
  readonly language: string | undefined;
}

/** Renders all texts of a variation, in the user's language if the variation has a translation. */
export function renderVariation(variation: ResponseVariation, scope: ResponseScope): BotMessage {
  const write = writer(variation, scope);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- texts stay texts, and lists lists
  const each = <Value extends JsonValue>(value: Value): Value => renderEach(value, write) as Value;
  const text = translated(variation.translation, scope.language) ?? variation.text;
  const { buttons, quickReplies, image, attachment, custom, elements } = variation;
  return {
    ...(text !== undefined && { text: write(text) }),
    ...(buttons !== undefined && {
      buttons: buttons.map((button) => renderButton(button, scope.language, write)),
    }),
    ...(quickReplies !== undefined && { quickReplies: each(quickReplies) }),
    ...(image !== undefined && { image: write(image) }),
    ...(attachment !== undefined && { attachment: each(attachment) }),
    ...(custom !== undefined && { custom: each(custom) }),
    ...(elements !== undefined && { elements: each(elements) }),
  };
}

/** Two template formats: `{slot}`, and Jinja for variations with `metadata: {template: jinja}`. */
function writer(variation: ResponseVariation, scope: ResponseScope): (text: string) => string {
  if (variation.metadata?.['template'] === 'jinja') {
    const names = { slots: scope.slots, context: scope.context, ...scope.values };
    return (text) => compileTemplate(text).render(names);
  }
  const names = { ...scope.slots, ...scope.values };
  return (text) => renderFormat(text, names);
}

function renderButton(
  button: Button,
  language: string | undefined,
  write: (text: string) => string,
): Button {
  const { title, payload } = { ...button, ...translated(button.translation, language) };
  return { title: write(title), payload: write(payload) };
}

function translated<Value>(
  translation: Readonly<Record<string, Value>> | undefined,
  language: string | undefined,
): Value | undefined {
  if (translation === undefined || language === undefined) return undefined;
  return Object.hasOwn(translation, language) ? translation[language] : undefined;
}
