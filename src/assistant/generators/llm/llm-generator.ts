import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import {
  type GeneratedText,
  generateText,
  offersStructuredOutput,
  timeoutOf,
} from '../../../models/index.ts';
import { LegateError } from '../../../protocol/index.ts';
import { type Logger, silentLogger } from '../../../telemetry/index.ts';
import type { Command } from '../../conversation.ts';
import type { CommandGenerator, GeneratorInput } from '../../commands/generator.ts';
import { noted } from '../../prompt-note.ts';
import { compileTemplate } from '../../templates/template.ts';
import { gatherFacts } from './facts.ts';
import { parseCommands } from './parse-commands.ts';
import { buildPrompt, commandSchema } from './prompt.ts';
import { chooseFlows } from './retrieval.ts';

/** The command set of the prompt. v3 has a single command for everything that is not a request. */
export type CommandLanguage = 'v2' | 'v3';

export interface LlmGeneratorOptions {
  readonly model: LanguageModelV4;
  /** @default 'v2' */
  readonly commands?: CommandLanguage;
  /** A Jinja template instead of the built-in prompt; its variables are `PromptFacts`. */
  readonly promptTemplate?: string;
  readonly flowRetrieval?: {
    /** Shows the model only the best matching flows if there are more than `numFlows`. @default true */
    readonly isActive?: boolean;
    /** @default 20 */
    readonly numFlows?: number;
    /** Number of user messages that flows are ranked by. @default 1 */
    readonly turnsToEmbed?: number;
    /** Whether names and descriptions of slots count in the ranking. @default true */
    readonly shouldEmbedSlots?: boolean;
  };
  /** Maximum characters of the user's message; the rest is truncated. @default 420 */
  readonly maxCharacters?: number;
  /** Includes the date and time in the prompt. @default true */
  readonly includeDateTime?: boolean;
  /** IANA name. @default 'UTC' */
  readonly timezone?: string;
  /** Timeout of the model in milliseconds, retries included. @default 7_000 */
  readonly timeoutMs?: number;
  /** @default 1 */
  readonly retries?: number;
  /** Requests JSON with a schema: always, never, or if the model supports it. @default 'auto' */
  readonly structuredOutput?: boolean | 'auto';
  readonly logger?: Logger;
}

/**
 * The generator that interprets messages with a model. The model gets the best matching flows, the state
 * and the conversation, and answers with commands, in lines or as JSON. An answer without a command
 * becomes `cannot handle`. If the model fails or times out, the turn gets an internal error.
 * @example llmGenerator({ model: createModel(group), timezone: 'Europe/Berlin' })
 */
export function llmGenerator(options: LlmGeneratorOptions): CommandGenerator {
  const { model, commands = 'v2', structuredOutput = 'auto', logger = silentLogger } = options;
  const template =
    options.promptTemplate === undefined ? undefined : compileTemplate(options.promptTemplate);
  // A project's own template defines the format of the answer.
  const isStructured =
    template === undefined &&
    (structuredOutput === 'auto' ? offersStructuredOutput(model) : structuredOutput);

  return {
    name: 'llm',
    async generate(input) {
      const flows = chooseFlows(input, options.flowRetrieval ?? {});
      input.onFlows?.(flows.map(({ id }) => id));
      const facts = gatherFacts(input, flows, options);
      const prompt =
        template === undefined
          ? buildPrompt(facts, { commands, isStructured })
          : asUser(template.render(facts));
      try {
        const answer = await noted(input, { component: 'llm', model: model.modelId, prompt }, () =>
          generateText(model, {
            prompt,
            signal: input.signal,
            timeoutMs: options.timeoutMs ?? timeoutOf(model) ?? 7_000,
            retries: options.retries ?? 1,
            logger,
            ...(isStructured && {
              responseFormat: {
                type: 'json' as const,
                name: 'commands',
                schema: commandSchema(facts, commands),
              },
            }),
          }),
        );
        return understand(answer, input, logger);
      } catch (error) {
        input.signal.throwIfAborted();
        return [failed(error, model.modelId, logger)];
      }
    },
  };
}

function understand(
  answer: GeneratedText,
  input: GeneratorInput,
  logger: NonNullable<LlmGeneratorOptions['logger']>,
): readonly Command[] {
  const { usage, attempts, finishReason } = answer;
  logger.debug({ ...usage, attempts, finishReason }, 'generator.llm.answered');
  // Drops the last line if the model was cut off: it can contain half a value.
  const isCut = finishReason === 'length' && answer.text.includes('\n');
  const text = isCut ? answer.text.slice(0, answer.text.lastIndexOf('\n')) : answer.text;
  const commands = parseCommands(text, { flows: input.allFlows, domain: input.domain });
  if (commands.length > 0) return commands;
  logger.warn({ characters: answer.text.length }, 'generator.llm.not_understood');
  return [{ command: 'cannot handle', reason: 'cannot_handle_default' }];
}

/** The user sees neither the message nor the error text of the service. */
function failed(
  error: unknown,
  model: string,
  logger: NonNullable<LlmGeneratorOptions['logger']>,
): Command {
  const code = error instanceof LegateError ? error.code : 'INTERNAL';
  const message = error instanceof LegateError ? error.message : undefined;
  logger.error({ model, code, message }, 'generator.llm.failed');
  return {
    command: 'error',
    errorType: 'rasa_internal_error_command_generation',
    info: { error_source: 'model', code },
  };
}

function asUser(text: string): LanguageModelV4Prompt {
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}
