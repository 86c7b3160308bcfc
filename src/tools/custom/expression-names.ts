import type { parse } from "@bufbuild/cel";

type Expr = ReturnType<typeof parse>["expr"];

/**
 * Returns unknown variables and functions. The library itself reports them only when a call evaluates them.
 * @param variables known names
 */
export function unknownNames(
  expr: Expr | undefined,
  variables: readonly string[],
  isFunction: (name: string) => boolean,
): string[] {
  const inside = (parts: readonly (Expr | undefined)[], more: readonly string[] = []) =>
    parts.flatMap((part) => unknownNames(part, [...variables, ...more], isFunction));
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case "identExpr":
      return variables.includes(kind.value.name) ? [] : [kind.value.name];
    case "selectExpr":
      return inside([kind.value.operand]);
    case "callExpr": {
      const { function: name, target, args } = kind.value;
      // Operators have names such as _+_ and always exist.
      const known = !/^[A-Za-z]/.test(name) || isFunction(name);
      return [...(known ? [] : [`${name}()`]), ...inside([target, ...args])];
    }
    case "listExpr":
      return inside(kind.value.elements);
    case "structExpr":
      return kind.value.entries.flatMap(({ keyKind, value }) =>
        inside([keyKind.case === "mapKey" ? keyKind.value : undefined, value]),
      );
    case "comprehensionExpr": {
      // Macros such as `map` and `all` expand to comprehensions.
      const { accuVar, iterVar, iterVar2, accuInit, iterRange, loopCondition, loopStep, result } = kind.value;
      return [
        ...inside([accuInit, iterRange]),
        ...inside([loopCondition, loopStep], [accuVar, iterVar, iterVar2]),
        ...inside([result], [accuVar]),
      ];
    }
    case "constExpr":
    case undefined:
      return [];
  }
}
