import { ERRORS, type ErrorCode } from "../domain/errors.ts";

/** The code of an error that a row tells of. One that was retired since is told as INTERNAL. */
export function errorCodeOf(text: string): ErrorCode {
  return isErrorCode(text) ? text : "INTERNAL";
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}
