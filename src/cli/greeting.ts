/** What a server prints when it has started. */
export interface Greeting {
  /** @example 'the assistant "bank"' */
  readonly what: string;
  readonly url: string;
  /** The link to the inspector, where it is served. */
  readonly inspectorUrl: string | undefined;
  readonly hasCard: boolean;
  /** Where data is stored, without credentials. */
  readonly data: string;
  /** One command to paste. */
  readonly command: string;
}

/** The only place that prints the link to the inspector. */
export function greetingOf(greeting: Greeting): string {
  const { what, url, inspectorUrl, hasCard, data, command } = greeting;
  return [
    `Serving ${what} at ${url}`,
    '',
    ...(inspectorUrl === undefined ? [] : [`Inspector:   ${inspectorUrl}`]),
    ...(hasCard ? [`Agent card:  ${url}/.well-known/agent-card.json`] : []),
    `Data:        ${data}`,
    '',
    'Try it:',
    `  ${command}`,
    '',
    'Stop: Ctrl+C',
  ].join('\n');
}
