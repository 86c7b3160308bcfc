import { ToolgateError } from "../../domain/core/errors.ts";
import { ApiFailure } from "./api-failure.ts";
import { JobExistsError } from "./executions-api.ts";

/** Default if the cluster sends no Retry-After, s. */
const RETRY_AFTER_SECONDS = 5;

/** Maps a failure for the caller; details stay in the cause. @param started the code may have run */
export function toToolgateError(cause: unknown, started: boolean): ToolgateError {
  if (cause instanceof ToolgateError) return cause;
  if (cause instanceof JobExistsError) {
    return new ToolgateError(
      "REQUEST_IN_PROGRESS",
      "This execution has already started; it does not start twice.",
      {
        cause,
      },
    );
  }
  if (started)
    return new ToolgateError("TOOL_FAILED", "The sandbox lost the execution before its result was known.", {
      cause,
    });
  const asked = cause instanceof ApiFailure ? cause.retryAfterSeconds : undefined;
  return new ToolgateError("UNAVAILABLE", "The sandbox could not start the execution; no code ran.", {
    retryAfterSeconds: asked ?? RETRY_AFTER_SECONDS,
    cause,
  });
}

export const abortedError = () => unavailable("The execution was aborted.");
export const fullError = () => unavailable("The sandbox queue is full.");
export const closedError = () => unavailable("The sandbox is shutting down.");

function unavailable(message: string): ToolgateError {
  return new ToolgateError("UNAVAILABLE", message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
