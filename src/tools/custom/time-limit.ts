import process from "node:process";
import { createContext, Script } from "node:vm";

export class TimeLimitError extends Error {
  override name = "TookTooLongError";

  constructor(ms: number) {
    super(`took longer than ${ms} ms`);
  }
}

const context = createContext({ work: () => {} });
const script = new Script("work()");

const MAX_ATTEMPTS = 5;

/**
 * Runs code that depends on external input (a pattern of a server's schema, a price expression) with a time
 * limit, since it could block the process for ever. Costs about 0.2 ms. Retries if the process was hardly
 * scheduled: a busy machine is not the code's fault.
 * @param work may run several times, so it must have no side effects
 * @throws TimeLimitError, and the errors of `work`
 */
export function withinMs<Value>(ms: number, work: () => Value): Value {
  let spentMs = 0;
  for (let tries = 1; tries <= MAX_ATTEMPTS && spentMs < ms / 2; tries++) {
    const before = process.threadCpuUsage();
    const done = attempt(ms, work);
    if (done) return done.value;
    const { user, system } = process.threadCpuUsage(before);
    spentMs += (user + system) / 1_000;
  }
  throw new TimeLimitError(ms);
}

/** Undefined on timeout. */
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

/** Errors of another context are not instanceof Error. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
