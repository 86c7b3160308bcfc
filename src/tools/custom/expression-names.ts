import type { parse } from "@bufbuild/cel";

type Expr = ReturnType<typeof parse>["expr"];

/**
 * Variables and functions of an expression that there are not. The library itself would tell of them only when it meets them in a call.
 * @param variables that there are
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
      // Operators have names such as _+_, and all of them are there.
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
      // What `map`, `all` and the like are written out as.
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
