/** A description that cannot be used. Its message has nothing of the server but the description. */
export class UnusableDescriptionError extends Error {
  override name = "UnusableDescriptionError";
}

/** Settings that cannot be used. @param setting of the tool, such as `price.expression` */
export class UnusableSettingError extends Error {
  override name = "UnusableSettingError";
  readonly setting: string;

  constructor(setting: string, problem: string) {
    super(problem);
    this.setting = setting;
  }
}

/** Causes in a reason, and its characters. */
const [MAX_CAUSES, MAX_LENGTH] = [4, 500];

/** Why a tool cannot be called. */
export interface Unavailable {
  /** For callers: without addresses of the server. */
  readonly reason: string;
  /** For the operator, on one line. */
  readonly details: string;
}

export const NOT_DESCRIBED: Unavailable = {
  reason: "its server has not described it yet",
  details: "its server has not described it yet",
};

export function unavailableBecause(error: unknown): Unavailable {
  const details = detailsOf(error);
  if (error instanceof UnusableDescriptionError)
    return {
      reason: `its server describes it in a way that cannot be used: ${oneLine(error.message)}`,
      details,
    };
  if (error instanceof UnusableSettingError)
    return { reason: "its operator has to correct its settings", details: `${error.setting}: ${details}` };
  return { reason: "its server did not describe it", details };
}

/** Returns the messages of an error and its causes on one line. */
function detailsOf(error: unknown): string {
  const messages: string[] = [];
  let one = error;
  for (let depth = 0; one instanceof Error && depth < MAX_CAUSES; depth++) {
    const message = one.message || one.name;
    if (!messages.some((earlier) => earlier.includes(message))) messages.push(message);
    const inner: unknown = one instanceof AggregateError ? one.errors[0] : undefined;
    one = one.cause ?? inner;
  }
  return oneLine(messages.join(": "));
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, MAX_LENGTH).toWellFormed();
}
