import {
  celEnv,
  celFunc,
  CelScalar,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  parse,
  plan,
  type CelInput,
  type CelValue,
} from "@bufbuild/cel";
import type { JsonValue } from "../../domain/core/json.ts";

/** Most items that the loops of an evaluation may go through, those of inner loops each time. */
const MAX_ITEMS = 5_000;

/** Function that counts the items of what a loop goes through. Expressions cannot name it. */
const COUNTED = "@counted";

/** A CEL expression of the configuration. */
export class CelExpression {
  readonly #evaluate: (variables: Record<string, CelInput>) => unknown;
  /** Members that the expression names, from a variable on: `["params", "body", "text"]`. */
  readonly paths: readonly (readonly string[])[];
  #items = 0;

  /** @throws Error with a message for the operator if it does not compile or uses other variables */
  constructor(text: string, variables: readonly string[]) {
    const parsed = parse(text);
    const counted = celFunc(COUNTED, [CelScalar.DYN], CelScalar.DYN, (range) => this.#counted(range));
    const env = celEnv({ funcs: [counted] });
    if (!parsed.expr) throw new Error("is empty");
    const unknown = unknownNames(parsed.expr, variables, (name) => env.funcs.find(name) !== undefined);
    if (unknown.length > 0) {
      const available = variables.join(", ");
      throw new Error(
        `uses the unknown names ${[...new Set(unknown)].join(", ")}; only ${available} ` +
          `${variables.length === 1 ? "is" : "are"} available`,
      );
    }
    this.paths = pathsIn(parsed.expr);
    countRanges(parsed.expr);
    this.#evaluate = plan(env, parsed);
  }

  /** Evaluates to bigint (whole numbers) or number (doubles). @throws Error if it fails or loops too long */
  valueOf(variables: Readonly<Record<string, JsonValue>>): unknown {
    const inputs = Object.entries(variables).map(([name, input]) => [name, celInput(input)] as const);
    this.#items = 0;
    const value = this.#evaluate(Object.fromEntries(inputs));
    if (this.#items > MAX_ITEMS) throw new Error(`its loops go through more than ${MAX_ITEMS} items`);
    if (isCelError(value)) throw new Error(value.message.slice(0, 200));
    return isCelUint(value) ? value.value : value;
  }

  #counted(range: CelValue): CelInput {
    if (isCelList(range) || isCelMap(range)) this.#items += range.size;
    // The result is not used then. An error would not end the loops around: operators such as && hide it.
    return this.#items > MAX_ITEMS ? [] : range;
  }
}

type Expr = NonNullable<ReturnType<typeof parse>["expr"]>;

function pathsIn(expr: Expr): string[][] {
  const path = pathOf(expr);
  return path ? [path] : partsOf(expr).flatMap(pathsIn);
}

/** Returns the path of `a.b["c"]`; undefined for other expressions. */
function pathOf({ exprKind: { case: kind, value } }: Expr): string[] | undefined {
  if (kind === "identExpr") return [value.name];
  const [operand, name] =
    kind === "selectExpr"
      ? [value.operand, value.field]
      : kind === "callExpr" && value.function === "_[_]"
        ? [value.args[0], textOf(value.args[1])]
        : [];
  const path = operand && pathOf(operand);
  return path && name !== undefined ? [...path, name] : undefined;
}

function textOf(expr: Expr | undefined): string | undefined {
  const constant = expr?.exprKind.case === "constExpr" ? expr.exprKind.value.constantKind : undefined;
  return constant?.case === "stringValue" ? constant.value : undefined;
}

/** Makes each loop of an expression count what it goes through. */
function countRanges(expr: Expr): void {
  const { exprKind: kind } = expr;
  if (kind.case === "comprehensionExpr" && kind.value.iterRange)
    kind.value.iterRange = countedCall(kind.value.iterRange);
  for (const part of partsOf(expr)) countRanges(part);
}

function countedCall(range: Expr): Expr {
  const { expr } = parse("counted(0)");
  if (expr?.exprKind.case !== "callExpr") throw new Error("a call was parsed as something else");
  Object.assign(expr.exprKind.value, { function: COUNTED, args: [range] });
  return expr;
}

function partsOf({ exprKind: { case: kind, value } }: Expr): Expr[] {
  switch (kind) {
    case "selectExpr":
      return present([value.operand]);
    case "callExpr":
      return present([value.target, ...value.args]);
    case "listExpr":
      return value.elements;
    case "structExpr":
      return present(
        value.entries.flatMap(({ keyKind, value: member }) => [
          keyKind.case === "mapKey" ? keyKind.value : undefined,
          member,
        ]),
      );
    case "comprehensionExpr":
      // Macros such as `map` and `all` expand to comprehensions.
      return present([value.accuInit, value.iterRange, value.loopCondition, value.loopStep, value.result]);
    default:
      return [];
  }
}

function present(parts: readonly (Expr | undefined)[]): Expr[] {
  return parts.filter((part) => part !== undefined);
}

/** Converts integers to int, other numbers to double and objects to maps. */
function celInput(value: JsonValue): CelInput {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celInput);
  if (typeof value === "object" && value !== null)
    return new Map(Object.entries(value).map(([name, member]) => [name, celInput(member)]));
  return value;
}

/** Returns names in the expression that are not in `variables`; the library reports them only at calls. */
function unknownNames(
  expr: Expr,
  variables: readonly string[],
  isFunction: (name: string) => boolean,
): string[] {
  const inside = (parts: readonly (Expr | undefined)[], more: readonly string[] = []) =>
    present(parts).flatMap((part) => unknownNames(part, [...variables, ...more], isFunction));
  const { exprKind: kind } = expr;
  switch (kind.case) {
    case "identExpr":
      return variables.includes(kind.value.name) ? [] : [kind.value.name];
    case "callExpr": {
      const { function: name } = kind.value;
      // Operators have names such as _+_ and always exist.
      const known = !/^[A-Za-z]/.test(name) || isFunction(name);
      return [...(known ? [] : [`${name}()`]), ...inside(partsOf(expr))];
    }
    case "comprehensionExpr": {
      const { accuVar, iterVar, iterVar2, accuInit, iterRange, loopCondition, loopStep, result } = kind.value;
      return [
        ...inside([accuInit, iterRange]),
        ...inside([loopCondition, loopStep], [accuVar, iterVar, iterVar2]),
        ...inside([result], [accuVar]),
      ];
    }
    default:
      return inside(partsOf(expr));
  }
}
