import { z } from "zod";

/** The part of a `Status` that is read (Kubernetes API conventions, "Response Status Kind"). */
const statusSchema = z.object({
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.int().optional(),
  details: z.object({ retryAfterSeconds: z.number().optional() }).optional(),
});

/** The API server refused, or could not be asked. */
export class ApiFailure extends Error {
  override name = "ApiFailure";
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  /** e.g. "AlreadyExists"; "" when it was not told. */
  readonly reason: string;
  /** After which it wants to be asked again, seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether an earlier try of the same request may have been heard. */
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

  /** Whether the same request may be answered otherwise in a moment: no answer, too many requests, or trouble in the server. */
  get transient(): boolean {
    return this.status === undefined || this.status === 429 || this.status >= 500;
  }
}

/** What an answer outside of 2xx says. */
export function failureOf(status: number, body: string, retryAfter: string | undefined): ApiFailure {
  const told = statusSchema.safeParse(jsonOf(body)).data;
  const seconds = /^\d{1,6}$/.test(retryAfter ?? "") ? Number(retryAfter) : told?.details?.retryAfterSeconds;
  const text = told?.message ?? body.slice(0, 300);
  return new ApiFailure(`the cluster's API server answered ${status}: ${text}`, {
    status,
    reason: told?.reason ?? "",
    retryAfterSeconds: seconds,
  });
}

/** What an ERROR event of a watch says; 410 when what is asked for is too old. */
export function failureOfEvent(object: unknown): ApiFailure {
  const told = statusSchema.safeParse(object).data;
  return new ApiFailure(`a watch ended: ${told?.message ?? "without a word"}`, {
    status: told?.code ?? 500,
    reason: told?.reason ?? "",
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
