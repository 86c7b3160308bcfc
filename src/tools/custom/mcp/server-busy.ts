/** Default if the server sends no Retry-After. */
const RETRY_SECONDS = 2;

const MAX_RETRY_SECONDS = 3_600;

/** HTTP 429 or 503. */
export class ServerBusyError extends Error {
  override name = "PatienceError";
  readonly retryAfterSeconds: number;

  constructor(response: Response) {
    super(`the server answered ${response.status}`);
    this.retryAfterSeconds = secondsOf(response.headers.get("retry-after"));
  }
}

export function isBusy({ status }: Response): boolean {
  return status === 429 || status === 503;
}

/** Parses Retry-After (RFC 9110, 10.2.3) to whole seconds. */
function secondsOf(header: string | null): number {
  if (header === null) return RETRY_SECONDS;
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  if (Number.isNaN(seconds)) return RETRY_SECONDS;
  return Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_SECONDS);
}
