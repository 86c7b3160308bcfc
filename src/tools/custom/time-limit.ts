import process from "node:process";
import { createContext, Script } from "node:vm";

/** Work that was given up because it took too long. */
export class TimeLimitError extends Error {
  override name = "TookTooLongError";

  constructor(ms: number) {
    super(`took longer than ${ms} ms`);
  }
}

const context = createContext({ work: () => {} });
const script = new Script("work()");

/** How often work is begun that the machine gives no time to. */
const MAX_ATTEMPTS = 5;

/**
 * Does work that somebody else wrote the rules of (a pattern of a foreign schema, an expression over a caller's values), and gives it up,
 * wherever it is, when it takes longer: a pattern can take a lifetime over forty characters, and all other calls would wait for it.
 * Costs about 0.2 ms. A busy machine is not the work's fault: what was hardly given the processor is begun again.
 * @param work that can be begun again, and leaves nothing half done
 * @throws TookTooLongError, and whatever the work throws
 */
export function withinMs<Value>(ms: number, work: () => Value): Value {
  let spentMs = 0;
  for (let tries = 1; tries <= MAX_ATTEMPTS && spentMs < ms / 2; tries++) {
    const begun = process.threadCpuUsage();
    const done = attempt(ms, work);
    if (done) return done.value;
    const { user, system } = process.threadCpuUsage(begun);
    spentMs += (user + system) / 1_000;
  }
  throw new TimeLimitError(ms);
}

/** Undefined: it took longer. */
function attempt<Value>(ms: number, work: () => Value): { readonly value: Value } | undefined {
  const outcome: { done?: { readonly value: Value } } = {};
  context["work"] = () => {
    outcome.done = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: ms });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return undefined;
  } finally {
    context["work"] = () => {};
  }
  return outcome.done;
}

/** An error of the context's own, and so no `Error` of ours. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
