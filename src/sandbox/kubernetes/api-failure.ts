import { z } from "zod";
import { parsedJson } from "../../domain/core/json.ts";

/** The fields used of a `Status` (Kubernetes API conventions, "Response Status Kind"). */
const statusSchema = z.object({
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z.object({ retryAfterSeconds: z.number().optional() }).optional(),
});

export class ApiFailure extends Error {
  override name = "ApiFailure";
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** e.g. "AlreadyExists"; "" if not reported. */
  readonly reason: string;
  readonly retryAfterSeconds: number | undefined;
  /** Whether an earlier attempt of the request may have reached the server. */
  retried = false;

  constructor(
    message: string,
    options: {
      status?: number;
      reason?: string;
      retryAfterSeconds?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.reason = options.reason ?? "";
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** Whether a retry may succeed: no response, too many requests, or a server error. */
  get transient(): boolean {
    return this.status === undefined || this.status === 429 || this.status >= 500;
  }
}

export function failureOf(status: number, body: string, retryAfter: string | undefined): ApiFailure {
  const reported = statusSchema.safeParse(parsedJson(body)).data;
  const seconds = /^\d{1,6}$/.test(retryAfter ?? "")
    ? Number(retryAfter)
    : reported?.details?.retryAfterSeconds;
  const text = reported?.message ?? body.slice(0, 300);
  return new ApiFailure(`the cluster's API server answered ${status}: ${text}`, {
    status,
    reason: reported?.reason ?? "",
    retryAfterSeconds: seconds,
  });
}
