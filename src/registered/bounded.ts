import { createContext, Script } from "node:vm";

/** Work that was given up because it took too long. */
export class TookTooLongError extends Error {
  override name = "TookTooLongError";

  constructor(ms: number) {
    super(`took longer than ${ms} ms`);
  }
}

const context = createContext({ work: () => {} });
const script = new Script("work()");

/**
 * Does work that somebody else wrote the rules of (a pattern of a foreign schema, an expression over a caller's values), and gives it up,
 * wherever it is, when it takes longer: a pattern can take a lifetime over forty characters, and all other calls would wait for it.
 * Costs about 0.2 ms.
 * @throws TookTooLongError, and whatever the work throws
 */
export function withinMs<Value>(ms: number, work: () => Value): Value {
  const outcome: { done?: { readonly value: Value } } = {};
  context["work"] = () => {
    outcome.done = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: ms });
  } catch (error) {
    throw isTimeout(error) ? new TookTooLongError(ms) : error;
  } finally {
    context["work"] = () => {};
  }
  if (!outcome.done) throw new TookTooLongError(ms);
  return outcome.done.value;
}

/** An error of the context's own, and so no `Error` of ours. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
