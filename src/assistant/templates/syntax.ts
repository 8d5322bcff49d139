import type { JsonValue } from '../../protocol/index.ts';

type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';
type Arithmetic = '~' | '+' | '-' | '*' | '/' | '//' | '%' | '**';
export type BinaryOperator = 'and' | 'or' | Comparison | Arithmetic;

export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: ReadonlyMap<string, Expression>;
}

/** `offset` is where the part stands in the template, for errors while rendering. */
export type Expression = { readonly offset: number } & (
  | { readonly kind: 'literal'; readonly value: JsonValue }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'list' | 'tuple'; readonly items: readonly Expression[] }
  | {
      readonly kind: 'mapping';
      readonly entries: readonly { readonly key: Expression; readonly value: Expression }[];
    }
  | { readonly kind: 'member'; readonly of: Expression; readonly key: Expression }
  | {
      readonly kind: 'slice';
      readonly of: Expression;
      readonly from: Expression | undefined;
      readonly to: Expression | undefined;
      readonly step: Expression | undefined;
    }
  /** A macro of the template, or one of `range`, `dict` and `namespace`. */
  | { readonly kind: 'call'; readonly name: string; readonly arguments: Arguments }
  | {
      readonly kind: 'method' | 'filter';
      readonly of: Expression;
      readonly name: string;
      readonly arguments: Arguments;
    }
  | {
      readonly kind: 'test';
      readonly of: Expression;
      readonly name: string;
      readonly negated: boolean;
      readonly arguments: Arguments;
    }
  | { readonly kind: 'not' | 'minus'; readonly of: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: 'choice';
      readonly condition: Expression;
      readonly yes: Expression;
      readonly no: Expression | undefined;
    }
);

/** Where `set` and `with` put a value: names that share the items of a list, or one of a namespace. */
export type Target =
  | { readonly names: readonly string[]; readonly isList: boolean }
  | { readonly namespace: string; readonly key: string };

export interface Parameter {
  readonly name: string;
  readonly fallback: Expression | undefined;
}

export type Statement = { readonly offset: number } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly expression: Expression }
  | { readonly kind: 'if'; readonly branches: readonly Branch[] }
  | {
      readonly kind: 'for';
      readonly target: Extract<Target, { names: unknown }>;
      readonly over: Expression;
      readonly filter: Expression | undefined;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
    }
  | { readonly kind: 'set'; readonly target: Target; readonly value: Expression }
  | {
      /** `{% set x %}...{% endset %}`, maybe with filters: `{% set x | upper %}`. */
      readonly kind: 'capture';
      readonly target: Target;
      readonly body: readonly Statement[];
      readonly filter: Expression | undefined;
    }
  | {
      /** `{% filter upper %}...{% endfilter %}`. */
      readonly kind: 'filtered';
      readonly body: readonly Statement[];
      readonly filter: Expression;
    }
  | {
      readonly kind: 'with';
      readonly assignments: readonly { readonly name: string; readonly value: Expression }[];
      readonly body: readonly Statement[];
    }
  | ({ readonly kind: 'macro'; readonly name: string } & MacroSyntax)
  | {
      /** `{% call name(...) %}...{% endcall %}`: the body is what `caller()` gives in the macro. */
      readonly kind: 'callblock';
      readonly call: Extract<Expression, { kind: 'call' }>;
      readonly body: MacroSyntax;
    }
);

export interface MacroSyntax {
  readonly parameters: readonly Parameter[];
  readonly body: readonly Statement[];
}

interface Branch {
  /** Absent for `else`. */
  readonly condition: Expression | undefined;
  readonly body: readonly Statement[];
}

/** The variable that stands for the rendered block in the filters of `filter` and `set` blocks. */
export const blockName = '%block';
