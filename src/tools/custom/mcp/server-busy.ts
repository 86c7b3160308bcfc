import { retryAfterOf } from "../../../outbound/retry-after.ts";

/** Default if the server sends no Retry-After. */
const RETRY_SECONDS = 2;

const MAX_RETRY_SECONDS = 3_600;

/** HTTP 429 or 503. */
export class ServerBusyError extends Error {
  override name = "PatienceError";
  readonly retryAfterSeconds: number;
  readonly status: number;

  constructor(response: Response) {
    super(`the server answered ${response.status}`);
    this.status = response.status;
    this.retryAfterSeconds = retryAfterOf(response.headers, MAX_RETRY_SECONDS) ?? RETRY_SECONDS;
  }
}

export function isBusy({ status }: Response): boolean {
  return status === 429 || status === 503;
}
