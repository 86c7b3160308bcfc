import { ERRORS, type ErrorCode } from "../../domain/core/errors.ts";

/** Parses a stored error code; retired codes become INTERNAL. */
export function errorCodeOf(text: string): ErrorCode {
  return isErrorCode(text) ? text : "INTERNAL";
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}
