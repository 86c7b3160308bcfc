/** When to try again where the server does not say, seconds. */
const RETRY_SECONDS = 2;

/** Longest wait that is passed on to a caller, seconds. */
const MAX_RETRY_SECONDS = 3_600;

/** A server that asks to be left alone for a while (HTTP 429 and 503). */
export class ServerBusyError extends Error {
  override name = "PatienceError";
  readonly retryAfterSeconds: number;

  constructor(response: Response) {
    super(`the server answered ${response.status}`);
    this.retryAfterSeconds = secondsOf(response.headers.get("retry-after"));
  }
}

/** Whether a server asks for patience instead of answering. */
export function isBusy({ status }: Response): boolean {
  return status === 429 || status === 503;
}

/** The wait of a Retry-After (RFC 9110, 10.2.3), whole seconds. */
function secondsOf(header: string | null): number {
  if (header === null) return RETRY_SECONDS;
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  if (Number.isNaN(seconds)) return RETRY_SECONDS;
  return Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_SECONDS);
}
