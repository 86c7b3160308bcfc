import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import { createValidator } from "@bufbuild/protovalidate";
import { ToolgateError } from "../domain/errors.ts";

/** Most violations that one answer names. */
const MAX_NAMED = 10;

const patterns = new Map<string, RegExp>();

/** The patterns are our own contract's, few and linear, so that the platform's engine is safe and spares a call with a key some 2.5 us. */
const validator = createValidator({ regexMatch: (pattern, text) => compiled(pattern).test(text) });

/**
 * Checks a request against the rules of its proto (buf.validate); rules are compiled once per message type.
 * @throws ToolgateError INVALID_REQUEST naming every field by its path in proto names, e.g. `payment_proof.tx_ref`
 */
export function validate<D extends DescMessage>(schema: D, message: MessageShape<D>): void {
  const result = validator.validate(schema, message);
  if (result.kind === "valid") return;
  if (result.kind === "error") throw result.error;
  const problems = result.violations
    .slice(0, MAX_NAMED)
    .map((violation) => `${pathToString(violation.field)}: ${violation.message}`);
  throw new ToolgateError("INVALID_REQUEST", problems.join("; "));
}

function compiled(pattern: string): RegExp {
  let regExp = patterns.get(pattern);
  if (!regExp) {
    regExp = new RegExp(pattern, "u");
    patterns.set(pattern, regExp);
  }
  return regExp;
}
