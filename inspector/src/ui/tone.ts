/** What a colour says. */
export type Tone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad' | 'info';
